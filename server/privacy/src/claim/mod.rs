//! What may be claimed: never more than selection enforces.
//!
//! A way of sampling can only be made from [`EnforcedParticipation`], and a mechanism can only be accounted with the ways
//! for which [`Accounts`] is implemented: another pair does not compile. Where both are known only at run time,
//! [`account`] gives an error that names both and the remedy.
//!
//! [`Cost`] is the one way from releases to an epsilon: claims, the ledger and the planner all take it.
//!
//! The default claim: no amplification; a client is in at most k releases, and ρ = k/(2z²).

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

/// A claim cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClaimError {
    /// Selection does not enforce what the claim rests on.
    #[error("{claim} cannot be claimed, because selection does not enforce it: {remedy}")]
    NotEnforced {
        /// What was to be claimed.
        claim: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The mechanism's privacy is not known under this way of sampling.
    #[error("{mechanism} cannot be accounted with {sampling}: {remedy}")]
    Pair {
        /// The mechanism.
        mechanism: &'static str,
        /// The way of sampling.
        sampling: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A formula does not hold for the relation or the sizes.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// No accountant bounds epsilon.
    #[error("epsilon has no bound for these numbers; raise the noise multiplier or plan fewer rounds")]
    Unbounded,
}
