//! The models, written by hand with burn's tensors.

use burn::tensor::activation::{log_softmax, relu};
use burn::tensor::module::{conv2d, linear, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};

/// The examples of every step.
pub struct Batch {
    features: Tensor<2>,
    labels: Tensor<2, Int>,
}

impl Batch {
    /// Takes row-major features, and a class for each row.
    pub fn new(features: Vec<f32>, labels: Vec<i32>) -> Self {
        let (rows, device) = (labels.len(), device());
        let width = features.len() / rows;
        Self {
            features: Tensor::from_data(TensorData::new(features, [rows, width]), &device),
            labels: Tensor::from_data(TensorData::new(labels, [rows, 1]), &device),
        }
    }
}

/// Convolutions, each with Relu and a pool, and then dense layers with Relu between them.
pub struct Model {
    convolutions: Vec<(Tensor<4>, Tensor<1>)>,
    dense: Vec<(Tensor<2>, Tensor<1>)>,
}

impl Model {
    /// 784-200-200-10.
    pub fn two_nn(weights: &[f32]) -> Self {
        let mut weights = Weights(weights);
        let dense = vec![weights.dense(784, 200), weights.dense(200, 200), weights.dense(200, 10)];
        Self { convolutions: Vec::new(), dense }
    }

    /// The CNN of McMahan et al. 2017.
    pub fn cnn(weights: &[f32]) -> Self {
        let mut weights = Weights(weights);
        let convolutions = vec![weights.convolution(1, 32), weights.convolution(32, 64)];
        Self { convolutions, dense: vec![weights.dense(3136, 512), weights.dense(512, 10)] }
    }

    /// Forward, backward and update; returns the loss before the update.
    pub fn step(&mut self, batch: &Batch, learning_rate: f32) -> f32 {
        let logarithms = log_softmax(self.logits(batch), 1);
        let loss = logarithms.gather(1, batch.labels.clone()).mean().neg();
        let mut gradients = loss.backward();
        for (weight, bias) in &mut self.convolutions {
            update(weight, &mut gradients, learning_rate);
            update(bias, &mut gradients, learning_rate);
        }
        for (weight, bias) in &mut self.dense {
            update(weight, &mut gradients, learning_rate);
            update(bias, &mut gradients, learning_rate);
        }
        loss.into_scalar()
    }

    fn logits(&self, batch: &Batch) -> Tensor<2> {
        let mut value = batch.features.clone();
        let rows = value.dims()[0];
        if !self.convolutions.is_empty() {
            let mut image: Tensor<4> = value.reshape([rows, 1, 28, 28]);
            for (weight, bias) in &self.convolutions {
                let options = ConvOptions::new([1, 1], [2, 2], [1, 1], 1);
                let sums = conv2d(image, weight.clone(), Some(bias.clone()), options);
                image = max_pool2d(relu(sums), MaxPoolOptions::new([2, 2]));
            }
            value = image.reshape([rows as i32, -1]);
        }
        let last = self.dense.len() - 1;
        for (index, (weight, bias)) in self.dense.iter().enumerate() {
            value = linear(value, weight.clone(), Some(bias.clone()));
            if index < last {
                value = relu(value);
            }
        }
        value
    }
}

/// Weights in schema order, taken from the front.
struct Weights<'a>(&'a [f32]);

impl Weights<'_> {
    fn take<const D: usize>(&mut self, shape: [usize; D]) -> Tensor<D> {
        let (own, others) = self.0.split_at(shape.iter().product());
        self.0 = others;
        Tensor::from_data(TensorData::new(own.to_vec(), shape), &device())
    }

    /// burn keeps the weights of a dense layer as `[inputs, outputs]`.
    fn dense(&mut self, inputs: usize, outputs: usize) -> (Tensor<2>, Tensor<1>) {
        let transposed = self.take([outputs, inputs]).transpose().into_data();
        let weight = Tensor::from_data(transposed, &device());
        (weight.require_grad(), self.take([outputs]).require_grad())
    }

    fn convolution(&mut self, channels: usize, filters: usize) -> (Tensor<4>, Tensor<1>) {
        let weight = self.take([filters, channels, 5, 5]);
        (weight.require_grad(), self.take([filters]).require_grad())
    }
}

fn device() -> Device {
    Device::flex().autodiff()
}

/// As burn's own SGD does it.
fn update<const D: usize>(weight: &mut Tensor<D>, gradients: &mut Gradients, learning_rate: f32) {
    let gradient = weight.grad_remove(gradients).expect("every weight has a gradient");
    let updated = weight.clone().inner() - gradient * learning_rate;
    *weight = updated.autodiff().require_grad();
}
