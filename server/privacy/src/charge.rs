use serde::{Deserialize, Serialize};

use crate::{NoiseMultiplier, SamplingRate};

/// In how many releases of a task a client's data can be, as selection enforces it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Participation {
    /// In at most so many, whichever they are. Nothing is claimed of how clients are drawn.
    AtMost {
        /// The number, at least 1.
        count: u64,
    },
    /// In each with this probability, independently of every other client and release.
    Poisson {
        /// The probability.
        rate: SamplingRate,
    },
    /// All releases of the task together cost what so many releases cost that a client is in, from the first one on: they
    /// share one stream of correlated noise (1), or the noise is in the updates themselves (as many as a client gives).
    Whole {
        /// The number, at least 1.
        count: u64,
    },
}

/// What an entry costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// The Gaussian noise, together with all that is released beside the model.
    pub noise_multiplier: NoiseMultiplier,
    /// Who is in it.
    pub participation: Participation,
}
