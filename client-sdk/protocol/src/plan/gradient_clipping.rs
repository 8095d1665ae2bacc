use serde::{Deserialize, Serialize};

use super::fault::Faults;

/// A bound on the gradient of the loss, applied before proximal term, correction and weight decay are added.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GradientClipping {
    /// Scales the gradient so that its L2 norm over all trained tensors together is at most this, above 0
    /// (Pascanu et al. 2013, algorithm 1).
    Norm(#[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))] f32),
    /// Limits every element to ± this value, above 0.
    Value(#[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.5])))] f32),
    /// Scales the gradient of each example to at most this L2 norm, above 0, and averages them over the batch: the
    /// clipping of DP-SGD (Abadi et al. 2016, algorithm 1). It computes examples one by one, which is slower. It is
    /// refused for models with batch normalisation, in which single examples have no gradients of their own.
    PerExampleNorm(
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))] f32,
    ),
}

impl GradientClipping {
    pub(super) fn list_faults(&self, faults: &mut Faults) {
        match *self {
            Self::Norm(bound) => faults.expect_positive("gradient_clipping.norm", bound),
            Self::Value(bound) => faults.expect_positive("gradient_clipping.value", bound),
            Self::PerExampleNorm(bound) => {
                faults.expect_positive("gradient_clipping.per_example_norm", bound);
            }
        }
    }
}
