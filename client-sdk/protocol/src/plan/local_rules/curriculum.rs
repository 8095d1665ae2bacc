use serde::{Deserialize, Serialize};

use crate::plan::fault::Faults;

/// A curriculum: steps begin with the easiest examples of the client, and the share of examples that they draw from grows (Hacohen
/// and Weinshall 2019, "On the power of curriculum learning in training deep networks", algorithm 1, with a linear pace).
///
/// A client computes the loss of each of its examples at the version once, before the first step, and sorts them. Step
/// `s`, counted from 0 in each training, draws its examples without repetition from the easiest share first_share + (1
/// − first_share)·min(1, s / `steps`) of all, and from a step's number of examples at least. So there are as many steps
/// as without a curriculum, but an epoch does not visit each example once. Losses are measured as in an evaluation,
/// without dropout and augmentation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Curriculum {
    /// The share of the examples that the first step draws from, above 0 and at most 1.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "examples" = [0.3])))]
    pub first_share: f32,
    /// The number of steps after which all examples take part, 1 or more.
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [50])))]
    pub steps: u32,
}

impl Curriculum {
    /// Returns the number of the easiest examples that a step, counted from 0, draws from: at least 1, at most all.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is never negative, and at most the number of examples"
    )]
    pub fn pool(self, step: u64, examples: usize) -> usize {
        let first = f64::from(self.first_share);
        let share = first + (1.0 - first) * (step as f64 / f64::from(self.steps)).min(1.0);
        // Rounded to a millionth first, so that 0.3 of 10 examples in single precision are 3.
        let pool = (share * examples as f64 * 1e6).round() / 1e6;
        (pool.ceil() as usize).clamp(1, examples.max(1))
    }

    pub(in crate::plan) fn list_faults(self, is_example_wise: bool, faults: &mut Faults) {
        let (field, share) = ("curriculum.first_share", self.first_share);
        if !(share > 0.0 && share <= 1.0) {
            faults.add(field, share.into(), "above 0 and at most 1");
        }
        faults.expect_at_least_one("curriculum.steps", self.steps.into());
        if is_example_wise {
            let allowed = "absent with gradient_clipping.per_example_norm: the losses of other examples decide when one is drawn";
            faults.add(field, share.into(), allowed);
        }
    }
}
