use serde::{Deserialize, Serialize};

use crate::{NoiseMultiplier, SamplingRate};

/// The number of a task's releases that can contain one client's data, as enforced by selection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Participation {
    /// A client is in at most `count` releases, no matter which ones. Nothing is claimed about how clients are drawn.
    AtMost {
        /// The maximum number of participations, at least 1.
        count: u64,
    },
    /// A client is in each release with the probability `rate`, independently of every other client and release.
    Poisson {
        /// The probability of being drawn for a release.
        rate: SamplingRate,
    },
    /// From its first release on, the whole task costs as much as `count` participations. Used when all releases share
    /// one stream of correlated noise (`count` is 1), or when the noise is in the updates themselves (`count` is the
    /// number of updates that a client may send).
    Whole {
        /// The number of participations that are charged, at least 1.
        count: u64,
    },
}

/// The privacy cost of a ledger entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// The multiplier of the Gaussian noise. It covers the model and everything else that is released with it.
    pub noise_multiplier: NoiseMultiplier,
    /// The number of releases that can contain one client's data.
    pub participation: Participation,
}
