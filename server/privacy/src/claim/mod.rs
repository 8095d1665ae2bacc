//! Privacy claims, which never go beyond what selection enforces.
//!
//! A kind of sampling can only be constructed from [`EnforcedParticipation`]. A mechanism can only be accounted under
//! the kinds for which it implements [`Accounts`]; any other pair does not compile. If the mechanism and the sampling
//! are known only at run time, [`account`] returns an error that names the pair and the remedy.
//!
//! [`Cost`] is the only conversion from releases to an epsilon: claims, the ledger and the planner all use it.
//!
//! The default claim has no amplification. A client is in at most k releases, so ρ = k/(2z²).

mod accountant;
mod charged;
mod cost;
mod mechanism;
mod pair;
mod participation;
mod spent;
#[cfg(test)]
mod tests;

pub use accountant::{ACCOUNTANT_VERSION, Accountant};
pub use charged::Charged;
pub use cost::{Cost, epsilon_by_loss_distribution};
pub use mechanism::{Blt, Gaussian, LocalGaussian, Mechanism, PlannedRounds, Tree};
pub use pair::{Accounts, Question, Sampling, account};
pub use participation::{Capped, EnforcedDraw, EnforcedParticipation, FixedSize, PoissonSampled, Separated};
pub use spent::{Spent, Unamplified};

use crate::accountant::CurveError;

/// A claim that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClaimError {
    /// Selection does not enforce an assumption of the claim.
    #[error("{claim} cannot be claimed, because selection does not enforce it: {remedy}")]
    NotEnforced {
        /// The requested claim.
        claim: &'static str,
        /// The change that makes the claim possible.
        remedy: &'static str,
    },
    /// The mechanism's privacy is not known under this kind of sampling.
    #[error("{mechanism} cannot be accounted with {sampling}: {remedy}")]
    Pair {
        /// The mechanism's name.
        mechanism: &'static str,
        /// The name of the kind of sampling.
        sampling: &'static str,
        /// Advice that names a pair that can be accounted.
        remedy: &'static str,
    },
    /// A formula does not hold for the given relation, or the sizes of cohort and population are invalid.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// No accountant bounds epsilon.
    #[error("epsilon has no bound for these numbers; raise the noise multiplier or plan fewer rounds")]
    Unbounded,
}
