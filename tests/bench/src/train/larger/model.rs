//! The larger models.

use serde::Serialize;

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

    /// Returns the tolerated difference of the losses after the checked steps, relative to ours.
    ///
    /// In the convolutional models, a rounding error changes the sign of a Relu's input, and the batch normalisations of
    /// their last layers divide by the deviation of only 128 numbers, which enlarges the difference in each step.
    pub fn loss_tolerance(self) -> f64 {
        match self {
            Self::ResNet18 | Self::MobileNetV2 => 0.1,
            Self::Transformer | Self::Lstm => 1e-3,
        }
    }
}
