//! The larger models.

use serde::Serialize;

use crate::train::trainee::CHECKED_STEPS;

/// The tolerated difference of our loss from the exact one after the checked steps, relative to the exact one.
pub const LOSS_TOLERANCE: f64 = 1e-3;

/// A model that the script writes, for batches of 32 examples and 10 classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub enum LargerModel {
    /// torchvision's ResNet-18 on images of 3x64x64
    ResNet18,
    /// torchvision's MobileNetV2 on images of 3x64x64
    MobileNetV2,
    /// An encoder of four layers of width 256 on 64 positions
    Transformer,
    /// An LSTM of two layers of width 256 on 64 steps
    Lstm,
}

impl LargerModel {
    /// Returns the name on the command line and in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::ResNet18 => "resnet18",
            Self::MobileNetV2 => "mobilenetv2",
            Self::Transformer => "transformer",
            Self::Lstm => "lstm",
        }
    }

    /// Returns the number of steps after which the losses are compared.
    ///
    /// A rounding error changes the sign of a Relu's input, and the batch normalisations of the last layers divide by
    /// the deviation of only 128 numbers. After three steps of ResNet-18, PyTorch's own loss in float32 differs from that
    /// in float64 by 0.2 %, so the losses of the convolutional models are compared after two.
    pub fn checked_steps(self) -> usize {
        match self {
            Self::ResNet18 | Self::MobileNetV2 => 2,
            Self::Transformer | Self::Lstm => CHECKED_STEPS,
        }
    }
}
