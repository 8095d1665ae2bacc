use serde::{Deserialize, Serialize};

use crate::plan::fault::Faults;

/// Small-loss selection: each step trains only on those of its examples with the smallest losses, because wrong labels have large ones while the
/// model has not learnt them.
///
/// This is the selection of co-teaching (Han et al. 2018, "Co-teaching: robust training of deep neural networks with extremely noisy labels",
/// algorithm 1, lines 4 and 8) with one model, which chooses for itself. The paper's two models, each of which chooses for the other, would need twice the
/// traffic. One model confirms its own errors more easily.
///
/// Step `s`, counted from 0 in each training, keeps the share 1 − `forget_rate`·min(1, s / `steps`) of its examples,
/// rounded up, and at least one. Losses are measured as in an evaluation at the weights of the step, without dropout
/// and augmentation. Loss and metrics that a client reports are those of the kept examples. A step takes a third
/// longer, and runs on the CPU. Refused with `gradient_clipping.per_example_norm`: a step would depend on which other
/// examples it has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SmallLossSelection {
    /// The share of examples that later steps leave out, above 0 and below 1: the paper's τ, the share of wrong labels as you
    /// estimate it.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "examples" = [0.2])))]
    pub forget_rate: f32,
    /// The number of steps over which the share grows from 0, the paper's Tₖ. With 0 (the default), it is `forget_rate` from the first
    /// step on. Each assignment starts over, so use 0 after some rounds of training, and steps for a model that knows nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0)))]
    pub steps: u32,
}

impl SmallLossSelection {
    /// Returns how many of its `examples` a step keeps: at least 1. Steps are counted from 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is never negative, and at most the number of examples"
    )]
    pub fn kept(self, step: u64, examples: usize) -> usize {
        let growth = if self.steps == 0 { 1.0 } else { (step as f64 / f64::from(self.steps)).min(1.0) };
        // Rounded to a millionth first, so that 0.2 of 10 examples in single precision are 2.
        let dropped = (f64::from(self.forget_rate) * growth * examples as f64 * 1e6).round() / 1e6;
        (examples - (dropped as usize).min(examples)).max(1)
    }

    pub(in crate::plan) fn list_faults(self, is_example_wise: bool, is_mixed: bool, faults: &mut Faults) {
        let (field, rate) = ("small_loss_selection.forget_rate", self.forget_rate);
        if !(rate > 0.0 && rate < 1.0) {
            faults.add(field, rate.into(), "above 0 and below 1");
        }
        if is_example_wise {
            let allowed = "absent with gradient_clipping.per_example_norm: a step would depend on which other examples it has";
            faults.add(field, rate.into(), allowed);
        }
        if is_mixed {
            faults.add(field, rate.into(), "absent with mixed precision, because only the CPU computes it");
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
