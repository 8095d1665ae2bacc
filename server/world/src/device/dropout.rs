use serde::{Deserialize, Serialize};

use super::purpose;
use crate::{
    chance::{Stream, uniform},
    setting::Check,
};

/// The probabilities with which a device leaves an assignment unfinished.
///
/// Bonawitz et al. 2019, "Towards federated learning at scale: system design", section 9, report that 6 to 10 % of the
/// devices drop out of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dropout {
    /// The probability that the device vanishes during an assignment, without a message.
    pub vanish_probability: f64,
    /// The probability that the device gives up during an assignment and reports it.
    pub abort_probability: f64,
}

/// The outcome of an assignment on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// The device sends an update, unless the deadline comes first.
    Completes,
    /// The device vanishes without a message.
    Vanishes,
    /// The device reports that it gives up.
    Aborts,
}

impl Dropout {
    pub(super) fn check(&self, check: &mut Check) {
        check.share("dropout.vanish_probability", self.vanish_probability);
        check.share("dropout.abort_probability", self.abort_probability);
        let sum = self.vanish_probability + self.abort_probability;
        // If the sum is NaN, one of the two probabilities is NaN and was recorded above.
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

    /// Returns the share of the work that is done when the device leaves the assignment.
    pub(super) fn done_share(client: u64, seed: u64, assignment_seed: u64) -> f64 {
        let mut rng = Self::stream(client, seed, assignment_seed);
        // The first draw decides the fate.
        uniform(&mut rng);
        uniform(&mut rng)
    }
}
