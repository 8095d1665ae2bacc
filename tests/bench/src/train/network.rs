//! The two models of McMahan et al. 2017, and the batch on which every executor trains them.

use folkmoot_engine::{ImportLimits, Model, onnx::build};
use serde::{Deserialize, Serialize};

use crate::Failure;

/// The number of examples in a step.
pub const BATCH_SIZE: usize = 32;
/// The learning rate of every executor. With a larger rate, a rounding error can change the sign of a Relu's input, and
/// the losses diverge.
pub const LEARNING_RATE: f32 = 0.01;
/// The number of values of an example.
pub const FEATURES: usize = 784;
const CLASSES: u64 = 10;
const SEED: u64 = 1;

/// A model, for input `[N, 784]` and output `[N, 10]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// 784-200-200-10 with Relu
    #[value(name = "2nn")]
    #[serde(rename = "2nn")]
    TwoNn,
    /// Two convolutions of 5x5 with pools, two dense layers: 1,663,370 parameters
    Cnn,
}

/// A layer with weights.
#[derive(Clone, Copy)]
enum Layer {
    Dense { inputs: u64, outputs: u64 },
    Convolution { channels: u64, filters: u64, positions: u64 },
}

impl Layer {
    /// Returns the number of multiplications in the forward pass of an example. Each of the two gradients, of the
    /// filter and of the input, needs the same number again.
    fn multiplications(self) -> u64 {
        match self {
            Self::Dense { inputs, outputs } => inputs * outputs,
            Self::Convolution { channels, filters, positions } => channels * 5 * 5 * filters * positions,
        }
    }
}

/// A matrix product that a layer needs: `[m, k]` times `[k, n]`.
#[derive(Clone, Copy)]
pub struct Product {
    /// m, k, n.
    pub shape: [usize; 3],
    /// True if the second matrix is stored as `[n, k]`, like the weights of a dense layer.
    pub is_transposed: bool,
    /// The name of the layer in the table.
    pub layer: &'static str,
}

impl Network {
    /// Returns the name on the command line and in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::TwoNn => "2nn",
            Self::Cnn => "cnn",
        }
    }

    /// Returns the ONNX file. It contains the initial weights, which are the same for all executors.
    pub fn onnx(self) -> Vec<u8> {
        match self {
            Self::TwoNn => build::mlp(&[FEATURES, 200, 200, 10], SEED),
            Self::Cnn => build::federated_averaging_cnn(SEED),
        }
    }

    /// Imports the model.
    pub fn model(self) -> Result<Model, Failure> {
        Ok(Model::from_onnx(&self.onnx(), &ImportLimits::default())?)
    }

    /// Returns the tolerated difference between another executor's loss and ours after the checked steps, relative to
    /// ours.
    ///
    /// The losses agree to seven digits until a rounding error changes the sign of a Relu's input or the largest
    /// element of a pool's window. A step of the CNN has a million such decisions.
    pub fn loss_tolerance(self) -> f64 {
        match self {
            Self::TwoNn => 1e-3,
            Self::Cnn => 1e-2,
        }
    }

    fn layers(self) -> Vec<Layer> {
        let dense = |inputs, outputs| Layer::Dense { inputs, outputs };
        let convolution = |channels, filters, positions| Layer::Convolution { channels, filters, positions };
        match self {
            Self::TwoNn => vec![dense(784, 200), dense(200, 200), dense(200, 10)],
            Self::Cnn => vec![
                convolution(1, 32, 28 * 28),
                convolution(32, 64, 14 * 14),
                dense(3136, 512),
                dense(512, 10),
            ],
        }
    }

    /// Returns the floating-point operations of a step: two for each multiplication of the layers' products.
    ///
    /// The count includes the forward pass and the gradient of the filter for every layer, and the gradient of the
    /// input for every layer except the first, which does not need it. Cheaper operations (Relu, pools, biases, the
    /// loss, the update) are not counted.
    pub fn flops(self) -> u64 {
        let layers = self.layers();
        let all: u64 = layers.iter().map(|layer| layer.multiplications()).sum();
        let behind_the_first: u64 = layers[1..].iter().map(|layer| layer.multiplications()).sum();
        2 * BATCH_SIZE as u64 * (2 * all + behind_the_first)
    }

    /// Returns the products that the large layers need in the forward pass.
    pub fn products(self) -> Vec<Product> {
        let dense = |shape, layer| Product { shape, is_transposed: true, layer };
        match self {
            Self::TwoNn => vec![dense([BATCH_SIZE, FEATURES, 200], "first layer")],
            Self::Cnn => vec![
                Product {
                    shape: [64, 800, 196],
                    is_transposed: false,
                    layer: "second convolution, an image",
                },
                dense([BATCH_SIZE, 3136, 512], "first dense layer"),
            ],
        }
    }
}

/// Returns row-major features, uniform between 0 and 1 like pixels.
pub fn features(rows: usize) -> Vec<f32> {
    (0..(rows * FEATURES) as u64).map(|index| (mixed(index) >> 40) as f32 / (1 << 24) as f32).collect()
}

/// Returns random classes, independent of the features.
pub fn labels(rows: usize) -> Vec<u32> {
    (0..rows as u64).map(|row| (mixed(row + (1 << 40)) % CLASSES) as u32).collect()
}

/// Computes the finaliser of SplitMix64.
pub fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_by_hand() {
        // The forward pass has 784·200 + 200·200 + 200·10 = 198,800 multiplications, 42,000 of them after the first
        // layer.
        assert_eq!(Network::TwoNn.flops(), 64 * (2 * 198_800 + 42_000));
        // The forward pass has 627,200 + 10,035,200 + 1,605,632 + 5,120 = 12,273,152 multiplications, 11,645,952 of
        // them after the first layer.
        assert_eq!(Network::Cnn.flops(), 64 * (2 * 12_273_152 + 11_645_952));
    }
}
