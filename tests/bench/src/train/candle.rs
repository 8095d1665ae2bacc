//! Measures candle's autograd. The model is written by hand, as candle's users do.
//!
//! candle 0.11's gradient of `max_pool2d` is wrong: it is divided by the number of elements of the window. The time of
//! its CNN is still meaningful, but its loss differs from that of the others and is not compared.

use candle_core::{Device, Result, Tensor, Var};

use super::{
    executor::Executor,
    network::{BATCH_SIZE, FEATURES, LEARNING_RATE, Network, features, labels},
};
use crate::Failure;

/// The model's variables and the batch. The variables are the weight and bias of each layer, in order.
pub struct Candle {
    network: Network,
    variables: Vec<Var>,
    features: Tensor,
    labels: Tensor,
}

impl Candle {
    /// Copies the weights of the ONNX file.
    pub fn new(network: Network) -> std::result::Result<Self, Failure> {
        let device = Device::Cpu;
        let model = network.model()?;
        let (weights, mut start, mut variables) = (model.initial_weights(), 0, Vec::new());
        for spec in model.parameters() {
            let own = &weights[start..start + spec.element_count()];
            variables.push(Var::from_slice(own, spec.shape.as_slice(), &device)?);
            start += own.len();
        }
        let features = Tensor::from_vec(features(BATCH_SIZE), (BATCH_SIZE, FEATURES), &device)?;
        let labels = Tensor::from_vec(labels(BATCH_SIZE), (BATCH_SIZE, 1), &device)?;
        Ok(Self { network, variables, features, labels })
    }

    fn logits(&self) -> Result<Tensor> {
        match self.network {
            Network::TwoNn => {
                let hidden = self.dense(&self.features, 0)?.relu()?;
                let hidden = self.dense(&hidden, 1)?.relu()?;
                self.dense(&hidden, 2)
            }
            Network::Cnn => {
                let image = self.features.reshape((BATCH_SIZE, 1, 28, 28))?;
                let pooled = self.convolution(&image, 0)?.relu()?.max_pool2d(2)?;
                let pooled = self.convolution(&pooled, 1)?.relu()?.max_pool2d(2)?;
                let hidden = self.dense(&pooled.flatten_from(1)?, 2)?.relu()?;
                self.dense(&hidden, 3)
            }
        }
    }

    fn dense(&self, input: &Tensor, layer: usize) -> Result<Tensor> {
        let (weight, bias) = (&self.variables[2 * layer], &self.variables[2 * layer + 1]);
        input.matmul(&weight.t()?)?.broadcast_add(bias)
    }

    fn convolution(&self, input: &Tensor, layer: usize) -> Result<Tensor> {
        let (weight, bias) = (&self.variables[2 * layer], &self.variables[2 * layer + 1]);
        let padding = 2;
        input.conv2d(weight, padding, 1, 1, 1)?.broadcast_add(&bias.reshape((1, (), 1, 1))?)
    }

    /// Computes softmax cross-entropy as in candle-nn.
    fn loss(&self) -> Result<Tensor> {
        let logits = self.logits()?;
        let shifted = logits.broadcast_sub(&logits.max_keepdim(1)?)?;
        let logarithms = shifted.broadcast_sub(&shifted.exp()?.sum_keepdim(1)?.log()?)?;
        logarithms.gather(&self.labels, 1)?.sum_all()?.affine(-1.0 / BATCH_SIZE as f64, 0.0)
    }
}

impl Executor for Candle {
    fn step(&mut self) -> std::result::Result<f64, Failure> {
        let loss = self.loss()?;
        let gradients = loss.backward()?;
        for variable in &self.variables {
            let gradient = gradients.get(variable).ok_or("a variable has no gradient")?;
            variable.set(&variable.sub(&(gradient * f64::from(LEARNING_RATE))?)?)?;
        }
        Ok(loss.to_scalar::<f32>()?.into())
    }
}
