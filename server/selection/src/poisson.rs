use folkmoot_protocol::Fault;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Draw, chance, check};

/// Poisson sampling: every waiting client is drawn independently with the sampling rate.
///
/// Its privacy amplification is the best known (Abadi et al. 2016, "Deep learning with differential privacy", section
/// 3.1). The draw ignores the wanted count, because a capped cohort is not a Poisson sample. A draw may be empty. The
/// ledger charges a draw as Poisson sampling only with `privacy.amplification = "poisson"`, whose rounds keep the draw
/// (the scheduling policy `sampled`). In other rounds, a draw of too few clients is abandoned, and a round with
/// many clients ends at its goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// The probability with which each client is drawn, above 0, at most 1.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "examples" = [0.01])))]
    pub sampling_rate: f64,
}

impl Poisson {
    pub(super) fn draw(&self, draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<usize> {
        let mut places = draw.places();
        places.retain(|_| chance::below_one(rng) < self.sampling_rate);
        places
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        let rate = self.sampling_rate;
        let is_right = rate > 0.0 && rate <= 1.0;
        check(faults, is_right, "sampling_rate", format!("it is {rate}"), "it must be above 0 and at most 1");
    }
}
