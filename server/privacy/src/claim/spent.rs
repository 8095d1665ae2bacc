use serde::Serialize;

use super::{Accountant, ClaimError, Cost};
use crate::accountant::rho_of_gaussian;
use crate::budget::{Delta, Epsilon, Rho, Unit};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// What releases have spent, or will, with all that a reader needs to judge it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// Whom it protects.
    pub unit: Unit,
    /// Which runs look alike.
    pub relation: Relation,
    /// How many releases there are.
    pub releases: u64,
    /// In how many of them a client can be.
    pub participations: u64,
    /// The zCDP parameter, where the claim has one.
    pub rho: Option<Rho>,
    /// Epsilon at `delta`.
    pub epsilon: Epsilon,
    /// The delta for which epsilon holds.
    pub delta: Delta,
    /// Which accountant answered.
    pub accountant: Accountant,
    /// Its version.
    pub accountant_version: &'static str,
    /// What the claim rests on, in words.
    pub assumptions: Vec<&'static str>,
    /// What could be claimed if nothing were known of the draw but the participations.
    pub without_amplification: Unamplified,
}

/// A claim that does not rest on the draw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unamplified {
    /// The zCDP parameter.
    pub rho: Rho,
    /// Epsilon at the same delta.
    pub epsilon: Epsilon,
}

impl Unamplified {
    /// Derives ρ = k/(2z²) and its epsilon.
    ///
    /// # Errors
    /// As [`Cost::epsilon`].
    pub(super) fn of_gaussian(
        multiplier: NoiseMultiplier,
        participations: u64,
        delta: Delta,
    ) -> Result<Self, ClaimError> {
        Self::of_rho(rho_of_gaussian(multiplier, participations), delta)
    }

    /// Converts ρ.
    ///
    /// # Errors
    /// As [`Cost::epsilon`].
    pub(super) fn of_rho(rho: Rho, delta: Delta) -> Result<Self, ClaimError> {
        Ok(Self { rho, epsilon: Cost::of_rho(rho).epsilon(delta)? })
    }
}

/// The smallest of what the accountants answered, with the name of the one.
pub(super) fn smallest(
    answers: impl IntoIterator<Item = (Option<Epsilon>, Accountant)>,
) -> Result<(Epsilon, Accountant), ClaimError> {
    let known = answers.into_iter().filter_map(|(epsilon, accountant)| Some((epsilon?, accountant)));
    known.min_by(|first, second| first.0.get().total_cmp(&second.0.get())).ok_or(ClaimError::Unbounded)
}
