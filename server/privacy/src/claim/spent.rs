use serde::Serialize;

use super::{Accountant, ClaimError, Cost};
use crate::accountant::rho_of_gaussian;
use crate::budget::{Delta, Epsilon, Rho, Unit};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// The privacy that releases have spent or will spend, with the facts that a reader needs to judge it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// The privacy unit.
    pub unit: Unit,
    /// The neighbouring relation under which the claim holds.
    pub relation: Relation,
    /// The number of releases.
    pub releases: u64,
    /// The maximum number of those releases that a client can be in.
    pub participations: u64,
    /// The zCDP parameter; `None` if the claim has none, because it is amplified by sampling.
    pub rho: Option<Rho>,
    /// Epsilon at `delta`.
    pub epsilon: Epsilon,
    /// The delta at which epsilon holds.
    pub delta: Delta,
    /// The accountant that computed epsilon.
    pub accountant: Accountant,
    /// The version of the accountant.
    pub accountant_version: &'static str,
    /// The assumptions of the claim, in words.
    pub assumptions: Vec<&'static str>,
    /// The same claim without amplification. It depends only on the number of participations.
    pub without_amplification: Unamplified,
}

/// A claim that does not depend on how clients are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unamplified {
    /// The zCDP parameter.
    pub rho: Rho,
    /// Epsilon at the same delta.
    pub epsilon: Epsilon,
}

impl Unamplified {
    /// Computes ρ = k/(2z²) and its epsilon.
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

    /// Converts ρ to an epsilon at `delta`.
    ///
    /// # Errors
    /// As [`Cost::epsilon`].
    pub(super) fn of_rho(rho: Rho, delta: Delta) -> Result<Self, ClaimError> {
        Ok(Self { rho, epsilon: Cost::of_rho(rho).epsilon(delta)? })
    }
}

/// Returns the smallest epsilon and the accountant that computed it.
pub(super) fn smallest(
    answers: impl IntoIterator<Item = (Option<Epsilon>, Accountant)>,
) -> Result<(Epsilon, Accountant), ClaimError> {
    let known = answers.into_iter().filter_map(|(epsilon, accountant)| Some((epsilon?, accountant)));
    known.min_by(|first, second| first.0.get().total_cmp(&second.0.get())).ok_or(ClaimError::Unbounded)
}
