use serde::{Deserialize, Serialize};

use super::purpose;
use crate::{
    chance::{Stream, uniform},
    setting::Check,
};

/// How often a device leaves an assignment unfinished. Bonawitz et al. 2019, "Towards federated learning at scale:
/// system design", section 9, report that 6 to 10 % of the devices drop out of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dropout {
    /// The probability that an assignment is never heard of again.
    pub vanish_probability: f64,
    /// The probability that the device says it gives up.
    pub abort_probability: f64,
}

/// What becomes of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It brings an update, unless the deadline is before.
    Completes,
    /// Nothing is heard of it again.
    Vanishes,
    /// The device says that it gives up.
    Aborts,
}

impl Dropout {
    pub(super) fn check(&self, check: &mut Check) {
        check.share("dropout.vanish_probability", self.vanish_probability);
        check.share("dropout.abort_probability", self.abort_probability);
        let sum = self.vanish_probability + self.abort_probability;
        // Of a sum that is not a number, the parts are refused above.
        check.require(
            "dropout",
            sum,
            sum.is_nan() || sum <= 1.0,
            "at most 1 for both probabilities together",
        );
    }

    fn stream(client: u64, seed: u64, assignment_seed: u64) -> Stream {
        Stream::new(seed, &[purpose::FATE, client, assignment_seed])
    }

    pub(super) fn fate(&self, client: u64, seed: u64, assignment_seed: u64) -> Fate {
        let drawn = uniform(&mut Self::stream(client, seed, assignment_seed));
        if drawn <= self.vanish_probability {
            Fate::Vanishes
        } else if drawn <= self.vanish_probability + self.abort_probability {
            Fate::Aborts
        } else {
            Fate::Completes
        }
    }

    /// Which share of the work is done when the device leaves.
    pub(super) fn done_share(client: u64, seed: u64, assignment_seed: u64) -> f64 {
        let mut rng = Self::stream(client, seed, assignment_seed);
        // The first draw is the fate's.
        uniform(&mut rng);
        uniform(&mut rng)
    }
}
