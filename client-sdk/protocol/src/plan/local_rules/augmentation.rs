use serde::{Deserialize, Serialize};

use crate::plan::{Loss, fault::Faults};

/// The maximum number of stretch masks.
const MASKS_MAX: usize = 4;
/// The maximum number of stretches that a mask hides.
const COUNT_MAX: u32 = 64;
/// The maximum number of dimensions.
const DIMENSIONS_MAX: usize = 8;
/// The range of mixup's alpha.
const ALPHA: std::ops::RangeInclusive<f32> = 0.01..=100.0;

/// Random changes of the examples in each step of a training, never in an evaluation. They are functions of the training's seed, the
/// step and the example, so they are the same after a stop and a restart, and the same on the CPU and a GPU.
///
/// An example is changed in this order: `noise`, `cutout`, `stretch_masks`, `mixup`. Masked values become 0, so prepare features
/// whose mean is 0. Models that look up rows of tables, such as token ids, are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Augmentation {
    /// The standard deviation of Gaussian noise that is added to each feature, 0 (off) or more.
    #[serde(default, skip_serializing_if = "is_off")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "default" = 0.0, "examples" = [0.1])))]
    pub noise: f32,
    /// The dimensions of an example without the batch, 1 to 8 of 1 or more each, for `cutout` and `stretch_masks`. Give them if
    /// the model takes flat rows that are images or sequences. By default, the shape of the model's input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 8), extend("default" = [], "examples" = [[1, 28, 28]])))]
    pub shape: Vec<u32>,
    /// The side of a square of pixels that is masked in all channels, 1 or more. Its centre is a uniform pixel, so a part of the square
    /// may lie outside of the image (DeVries and Taylor 2017, "Improved regularization of convolutional neural networks with
    /// cutout", section 3.2). The examples must be images of the shape `[channels, height, width]`. Without it, nothing is masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [8])))]
    pub cutout: Option<u32>,
    /// Masks of random stretches along a dimension of the examples, at most 4.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 4), extend("default" = [], "examples" = [[{ "axis": 0, "count": 2, "length_max": 10 }]])))]
    pub stretch_masks: Vec<StretchMask>,
    /// The alpha of mixup, from 0.01 to 100: each example x with target y becomes λ·x + (1 − λ)·x′ with λ·y + (1 − λ)·y′, for λ from
    /// Beta(alpha, alpha), once in each step, and another example of the step in random order (Zhang et al. 2018, "mixup: beyond empirical
    /// risk minimization", equation 1 and figure 1). Only for the losses `softmax_cross_entropy`, whose class numbers become distributions,
    /// and `mean_squared_error`. Refused with `gradient_clipping.per_example_norm`, because an example then appears in two
    /// gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 100, "examples" = [0.2])))]
    pub mixup: Option<f32>,
}

/// A mask of stretches along one dimension of the examples: a time mask or a frequency mask of SpecAugment (Park et al. 2019, "SpecAugment: a
/// simple data augmentation method for automatic speech recognition", section 2).
///
/// Each stretch has a uniform length from 0 to `length_max`, at most the whole dimension, and a uniform start. It is masked
/// for all positions of the other dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StretchMask {
    /// The dimension of an example, counted from 0 without the batch: the one of time for a time mask.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0)))]
    pub axis: u32,
    /// The number of stretches, from 1 to 64.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64), extend("default" = 1)))]
    pub count: u32,
    /// The largest length of a stretch, 1 or more.
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub length_max: u32,
}

impl Augmentation {
    pub(in crate::plan) fn list_faults(&self, loss: Loss, is_example_wise: bool, faults: &mut Faults) {
        faults.expect_not_negative("augmentation.noise", self.noise);
        if self.shape.len() > DIMENSIONS_MAX {
            faults.add("augmentation.shape", self.shape.len() as f64, "a list of at most 8 dimensions");
        }
        for size in &self.shape {
            faults.expect_at_least_one("augmentation.shape", (*size).into());
        }
        faults.expect_at_least_one("augmentation.cutout", self.cutout.unwrap_or(1).into());
        if self.stretch_masks.len() > MASKS_MAX {
            let count = self.stretch_masks.len() as f64;
            faults.add("augmentation.stretch_masks", count, "a list of at most 4 masks");
        }
        for mask in &self.stretch_masks {
            if !(1..=COUNT_MAX).contains(&mask.count) {
                faults.add("augmentation.stretch_masks.count", mask.count.into(), "1 to 64");
            }
            faults.expect_at_least_one("augmentation.stretch_masks.length_max", mask.length_max.into());
        }
        let Some(alpha) = self.mixup else { return };
        let field = "augmentation.mixup";
        if !ALPHA.contains(&alpha) {
            faults.add(field, alpha.into(), "0.01 to 100");
        }
        if !matches!(loss, Loss::SoftmaxCrossEntropy | Loss::MeanSquaredError) {
            let allowed = "absent with a loss other than softmax_cross_entropy and mean_squared_error";
            faults.add(field, alpha.into(), allowed);
        }
        if is_example_wise {
            let allowed =
                "absent with gradient_clipping.per_example_norm: an example would appear in two gradients";
            faults.add(field, alpha.into(), allowed);
        }
    }
}

fn is_off(number: &f32) -> bool {
    *number == 0.0
}

fn one() -> u32 {
    1
}
