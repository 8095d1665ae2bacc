//! Privacy claims, which never go beyond what selection enforces.
//!
//! A kind of sampling can only be constructed from [`EnforcedParticipation`]. A mechanism can only be charged under the
//! kinds for which it implements [`Charged`]; any other pair does not compile.
//!
//! [`Cost`] is the only conversion from releases to an epsilon: the ledger, the planner and statements all use it.
//!
//! The default claim has no amplification. A client is in at most k releases, so ρ = k/(2z²).

mod accountant;
mod charged;
mod cost;
mod mechanism;
mod participation;
#[cfg(test)]
mod tests;

pub use accountant::{ACCOUNTANT_VERSION, Accountant};
pub use charged::Charged;
pub use cost::{Cost, epsilon_by_loss_distribution};
pub use mechanism::{Blt, DistributedGaussian, Gaussian, LocalGaussian, Tree};
pub use participation::{Capped, EnforcedDraw, EnforcedParticipation, PoissonSampled, Separated};

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
    /// A formula does not hold for the given relation.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// No accountant bounds epsilon.
    #[error("epsilon has no bound for these numbers; raise the noise multiplier or plan fewer rounds")]
    Unbounded,
}
