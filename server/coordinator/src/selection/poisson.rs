use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Draw, chance, check};
use crate::fault::Fault;

/// Poisson sampling: every waiting client takes part with the sampling rate, whoever else does.
///
/// It is the sampling whose amplification of privacy is known best (Abadi et al. 2016, "Deep learning with
/// differential privacy", section 3.1). The count of the draw is not looked at: to cap the cohort would be another mechanism.
/// The draw may be empty. It is charged as Poisson sampling only with `privacy.amplification = "poisson"`, where rounds keep
/// to it ([`Sampled`](crate::scheduling::Sampled)); otherwise a round with too few drawn is abandoned, and one with many ends
/// at its goal.
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
