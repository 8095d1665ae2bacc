//! What the ledger charges for a mechanism under a way of sampling.

use super::mechanism::{Blt, Gaussian, LocalGaussian, Tree};
use super::pair::Accounts;
use super::participation::{Capped, PoissonSampled, Separated};
use crate::charge::Participation;

/// A mechanism whose releases a ledger can add up under a way of sampling. There is no charge for a pair that cannot be
/// accounted:
///
/// ```compile_fail
/// use folkmoot_privacy::{claim::{Charged, PoissonSampled, Tree}, ledger::Participation};
/// fn amplified_trees(sampling: &PoissonSampled) -> Participation {
///     Tree::participation(sampling)
/// }
/// ```
pub trait Charged<Sampling>: Accounts<Sampling> {
    /// Returns in which releases a client is, as the ledger counts them.
    fn participation(sampling: &Sampling) -> Participation;
}

impl Charged<Capped> for Gaussian {
    fn participation(sampling: &Capped) -> Participation {
        Participation::AtMost { count: sampling.participations(u64::MAX) }
    }
}

impl Charged<PoissonSampled> for Gaussian {
    fn participation(sampling: &PoissonSampled) -> Participation {
        Participation::Poisson { rate: sampling.rate() }
    }
}

/// The multiplier is over the sensitivity of the whole pattern.
impl Charged<Separated> for Tree {
    fn participation(_: &Separated) -> Participation {
        Participation::Whole { count: 1 }
    }
}

/// The multiplier is over the sensitivity of the whole pattern.
impl Charged<Separated> for Blt {
    fn participation(_: &Separated) -> Participation {
        Participation::Whole { count: 1 }
    }
}

/// What was sent was seen, whether or not a version came of it.
impl Charged<Capped> for LocalGaussian {
    fn participation(sampling: &Capped) -> Participation {
        Participation::Whole { count: sampling.participations(u64::MAX) }
    }
}
