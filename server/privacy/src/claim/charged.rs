//! The ledger's charge for a mechanism under a kind of sampling.

use super::mechanism::{Blt, DistributedGaussian, Gaussian, LocalGaussian, Tree};
use super::participation::{Capped, PoissonSampled, Separated};
use crate::charge::Participation;

/// A mechanism whose releases the ledger can add up under a kind of sampling. For a pair without a charge, the code
/// does not compile:
///
/// ```compile_fail
/// use folkmoot_privacy::{claim::{Charged, PoissonSampled, Tree}, ledger::Participation};
/// fn amplified_trees(sampling: &PoissonSampled) -> Participation {
///     Tree::participation(sampling)
/// }
/// ```
pub trait Charged<Sampling> {
    /// Returns the participation of a client that the ledger charges.
    fn participation(sampling: &Sampling) -> Participation;
}

impl Charged<Capped> for Gaussian {
    fn participation(sampling: &Capped) -> Participation {
        Participation::AtMost { count: sampling.participations_max() }
    }
}

impl Charged<PoissonSampled> for Gaussian {
    fn participation(sampling: &PoissonSampled) -> Participation {
        Participation::Poisson { rate: sampling.rate() }
    }
}

/// The charged multiplier is relative to the sensitivity of the whole participation pattern.
impl Charged<Separated> for Tree {
    fn participation(_: &Separated) -> Participation {
        Participation::Whole { count: 1 }
    }
}

/// The charged multiplier is relative to the sensitivity of the whole participation pattern.
impl Charged<Separated> for Blt {
    fn participation(_: &Separated) -> Participation {
        Participation::Whole { count: 1 }
    }
}

/// The coordinator sees an update once a client has sent it, even if its round publishes no version.
impl Charged<Capped> for LocalGaussian {
    fn participation(sampling: &Capped) -> Participation {
        Participation::Whole { count: sampling.participations_max() }
    }
}

/// The coordinator may see a sum that it does not publish, so every assignment counts.
impl Charged<Capped> for DistributedGaussian {
    fn participation(sampling: &Capped) -> Participation {
        Participation::Whole { count: sampling.participations_max() }
    }
}
