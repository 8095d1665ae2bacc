use serde::{Deserialize, Serialize};

use super::{GradientClipping, Precision, fault::Faults};

/// Sharpness-aware minimisation (Foret et al. 2021, "Sharpness-aware minimization for efficiently improving generalization",
/// equations 2 and 3), on each client as in FedSAM (Qu et al. 2022, "Generalized federated learning via sharpness aware
/// minimization", algorithm 1; Caldarola et al. 2022, "Improving generalization in federated learning by seeking flat minima").
///
/// A step computes the gradient `g` of its batch at the weights `w`, and then the gradient at w + radius·g/‖g‖ with the same
/// examples and the same dropout. The second gradient changes `w`. The norm is over all trained tensors together.
/// `accumulation_steps` sums all batches of a step at either point. Clipping, the proximal term, a drift correction and
/// weight decay apply to the second gradient, at `w`. Loss, metrics and running statistics come from the first. A step
/// takes twice the time, and one more copy of the weights in memory. It runs on the CPU, so it needs `precision =
/// "single"`. It is refused with `gradient_clipping.per_example_norm`, and so with `example_privacy`, because the second
/// gradient of an example depends on the examples beside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SharpnessAware {
    /// The papers' ρ, above 0: the distance at which the second gradient is computed. Foret et al. use 0.05.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.05])))]
    pub radius: f32,
}

impl SharpnessAware {
    pub(super) fn list_faults(
        &self,
        clipping: Option<GradientClipping>,
        precision: Precision,
        faults: &mut Faults,
    ) {
        let (field, radius) = ("sharpness_aware.radius", self.radius);
        faults.expect_positive(field, radius);
        if matches!(clipping, Some(GradientClipping::PerExampleNorm(_))) {
            faults.add(field, radius.into(), "absent with gradient_clipping.per_example_norm");
        }
        if precision == Precision::Mixed {
            faults.add(field, radius.into(), "absent with mixed precision, because only the CPU computes it");
        }
    }
}
