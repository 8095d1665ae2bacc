//! The two models of McMahan et al. 2017, which are plain sequences of layers.

use burn::tensor::{Tensor, activation::relu, module::max_pool2d, ops::MaxPoolOptions};

use crate::{Failure, layers::{Convolution, Dense}, training::{Network, Update}, weights::Weights};

/// Convolutions, each followed by Relu and a pool, and then dense layers with Relu between them.
pub struct Chain {
    convolutions: Vec<Convolution>,
    dense: Vec<Dense>,
}

impl Chain {
    /// Creates the perceptron with the layer widths 784, 200, 200 and 10.
    pub fn two_nn(weights: &mut Weights) -> Result<Self, Failure> {
        let mut dense = |inputs, outputs| Dense::of_gemm(weights, inputs, outputs);
        let dense = vec![dense(784, 200)?, dense(200, 200)?, dense(200, 10)?];
        Ok(Self { convolutions: Vec::new(), dense })
    }

    /// Creates the network of two 5x5 convolutions and two dense layers.
    pub fn cnn(weights: &mut Weights) -> Result<Self, Failure> {
        let convolutions = vec![Convolution::new(weights, 1, 32, 5)?, Convolution::new(weights, 32, 64, 5)?];
        let dense = vec![Dense::of_gemm(weights, 3136, 512)?, Dense::of_gemm(weights, 512, 10)?];
        Ok(Self { convolutions, dense })
    }
}

impl Network for Chain {
    type Input = Tensor<2>;

    fn logits(&mut self, pixels: &Tensor<2>) -> Tensor<2> {
        let mut value = pixels.clone();
        let rows = value.dims()[0];
        if !self.convolutions.is_empty() {
            let mut image: Tensor<4> = value.reshape([rows, 1, 28, 28]);
            for convolution in &self.convolutions {
                image = max_pool2d(relu(convolution.forward(image)), MaxPoolOptions::new([2, 2]));
            }
            value = image.reshape([rows as i32, -1]);
        }
        let last = self.dense.len() - 1;
        for (index, dense) in self.dense.iter().enumerate() {
            value = dense.forward(value);
            if index < last {
                value = relu(value);
            }
        }
        value
    }

    fn update(&mut self, update: &mut Update) {
        self.convolutions.iter_mut().for_each(|convolution| convolution.update(update));
        self.dense.iter_mut().for_each(|dense| dense.update(update));
    }
}
