//! The privacy cost of releases, and its conversion to an epsilon.
//!
//! Costs of different kinds of releases add up. No other code in this repository converts a cost to an epsilon.

use super::{Accountant, ClaimError};
use crate::accountant::{Orders, RdpCurve, poisson_gaussian_epsilon, rho_of_gaussian, zcdp_epsilon};
use crate::budget::{Delta, Epsilon, Rho, SamplingRate};
use crate::charge::{Charge, Participation};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// The privacy cost of releases, before a delta is chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// The zCDP parameter, for costs that claim no amplification by sampling. It is exact for the discrete Gaussian.
    Rho(Rho),
    /// A curve of Rényi divergences, for costs that claim amplification by sampling.
    Curve(RdpCurve),
}

impl Cost {
    /// Returns the cost of no release.
    pub fn nothing() -> Self {
        Self::of_rho(Rho::new(0.0).expect("0 is a rho"))
    }

    /// Returns the cost of a mechanism whose ρ is known.
    pub fn of_rho(rho: Rho) -> Self {
        Self::Rho(rho)
    }

    /// Computes the cost of `releases` releases of one task for a client that is in as many of them as selection
    /// allows.
    ///
    /// Without sampling, ρ = min(n, k)/(2z²) for n releases with at most k participations (Bun and Steinke 2016, lemma
    /// 1.7), under `relation`. With Poisson sampling, the cost is the Rényi curve of the subsampled Gaussian, which
    /// this code accounts under zero-out only.
    ///
    /// # Errors
    /// [`ClaimError::Curve`] if no formula holds for the relation of the noise.
    pub fn of_charge(charge: Charge, releases: u64, relation: Relation) -> Result<Self, ClaimError> {
        let multiplier = charge.noise_multiplier.under(relation);
        let participations = match charge.participation {
            Participation::AtMost { count } => releases.min(count),
            Participation::Whole { count } => count * u64::from(releases > 0),
            Participation::Poisson { rate } => {
                let multiplier = charge.noise_multiplier.under(Relation::ZeroOut);
                let one = RdpCurve::of_poisson_gaussian(rate, multiplier, Orders::default())?;
                return Ok(Self::Curve(one.times(releases)));
            }
        };
        Ok(Self::of_rho(rho_of_gaussian(multiplier, participations)))
    }

    /// Adds up the costs of different kinds of releases, given as `(charge, releases)` pairs.
    ///
    /// If any of them claims sampling, all are accounted under zero-out. Returns the sum and the relation it holds
    /// under.
    ///
    /// # Errors
    /// As [`Cost::of_charge`].
    pub fn of_charges(
        charges: impl IntoIterator<Item = (Charge, u64)> + Clone,
        relation: Relation,
    ) -> Result<(Self, Relation), ClaimError> {
        let is_sampled =
            |(charge, _): (Charge, u64)| matches!(charge.participation, Participation::Poisson { .. });
        let relation = if charges.clone().into_iter().any(is_sampled) { Relation::ZeroOut } else { relation };
        let mut sum = Self::nothing();
        for (charge, releases) in charges {
            sum = sum.plus(&Self::of_charge(charge, releases, relation)?)?;
        }
        Ok((sum, relation))
    }

    /// Returns the sum of the costs `self` and `other`.
    ///
    /// # Errors
    /// [`ClaimError`] if the sum is out of range, or the curves are under different relations.
    pub fn plus(&self, other: &Self) -> Result<Self, ClaimError> {
        match (self, other) {
            (Self::Rho(one), Self::Rho(two)) => {
                let sum = Rho::new(one.get() + two.get()).map_err(|_| ClaimError::Unbounded)?;
                Ok(Self::Rho(sum))
            }
            (one, two) => Ok(Self::Curve(one.curve().plus(&two.curve())?)),
        }
    }

    /// Returns this cost multiplied by `count`.
    ///
    /// # Errors
    /// [`ClaimError::Unbounded`] if the result is out of range.
    pub fn times(&self, count: u64) -> Result<Self, ClaimError> {
        match self {
            Self::Rho(rho) => {
                let times = Rho::new(rho.get() * count as f64).map_err(|_| ClaimError::Unbounded)?;
                Ok(Self::Rho(times))
            }
            Self::Curve(curve) => Ok(Self::Curve(curve.clone().times(count))),
        }
    }

    /// Returns ρ, or `None` if amplification by sampling is claimed.
    pub fn rho(&self) -> Option<Rho> {
        match self {
            Self::Rho(rho) => Some(*rho),
            Self::Curve(_) => None,
        }
    }

    /// Returns the accountant that converts this cost.
    pub fn accountant(&self) -> Accountant {
        match self {
            Self::Rho(_) => Accountant::Zcdp,
            Self::Curve(_) => Accountant::Rdp,
        }
    }

    /// Converts the cost to an epsilon at `delta`.
    ///
    /// # Errors
    /// [`ClaimError::Unbounded`] if the accountant gives no bound.
    pub fn epsilon(&self, delta: Delta) -> Result<Epsilon, ClaimError> {
        match self {
            Self::Rho(rho) => Ok(zcdp_epsilon(*rho, delta)),
            Self::Curve(curve) => curve.epsilon(delta).ok_or(ClaimError::Unbounded),
        }
    }

    fn curve(&self) -> RdpCurve {
        match self {
            Self::Rho(rho) => RdpCurve::of_rho(*rho, Relation::ZeroOut, Orders::default()),
            Self::Curve(curve) => curve.clone(),
        }
    }
}

/// Computes epsilon from the privacy loss distribution, for releases of one kind with Poisson sampling.
///
/// The result is tighter than [`Cost::epsilon`], but it cannot be added to other releases, so it enforces no budget.
/// Returns `None` if the loss of one release is too large for this accountant.
pub fn epsilon_by_loss_distribution(
    rate: SamplingRate,
    noise_multiplier: NoiseMultiplier,
    releases: u64,
    delta: Delta,
) -> Option<Epsilon> {
    poisson_gaussian_epsilon(rate, noise_multiplier, releases, delta)
}
