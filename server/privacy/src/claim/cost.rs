//! What releases cost, and the epsilon of it. Costs of unlike releases add up; nothing else in this repository turns a cost
//! into an epsilon.

use super::{Accountant, ClaimError};
use crate::accountant::{Orders, RdpCurve, poisson_gaussian_epsilon, rho_of_gaussian, zcdp_epsilon};
use crate::budget::{Delta, Epsilon, Rho, SamplingRate};
use crate::charge::{Charge, Participation};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// What releases cost, before a delta is chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// Zero-concentrated differential privacy: exact for the discrete Gaussian where nothing is claimed of sampling.
    Rho(Rho),
    /// Rényi divergences, where sampling is claimed.
    Curve(RdpCurve),
}

impl Cost {
    /// Returns what nothing costs.
    pub fn nothing() -> Self {
        Self::of_rho(Rho::new(0.0).expect("0 is a rho"))
    }

    /// Returns what a mechanism costs whose rho is known.
    pub fn of_rho(rho: Rho) -> Self {
        Self::Rho(rho)
    }

    /// Derives what so many releases of one task cost the client that is in as many of them as it can be, under a
    /// relation: rho is min(n, k)/(2z²) for n releases with at most k participations (Bun and Steinke 2016, lemma 1.7).
    /// With Poisson sampling it is the Rényi curve of the subsampled Gaussian, which is known under zero-out only.
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

    /// Adds up what unlike releases cost: `(charge, releases)` of each kind. Where sampling is claimed of one of them, all
    /// are accounted under zero-out.
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

    /// Adds what others cost.
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

    /// Returns what so many times as much costs.
    ///
    /// # Errors
    /// [`ClaimError::Unbounded`] if that is out of range.
    pub fn times(&self, count: u64) -> Result<Self, ClaimError> {
        match self {
            Self::Rho(rho) => {
                let times = Rho::new(rho.get() * count as f64).map_err(|_| ClaimError::Unbounded)?;
                Ok(Self::Rho(times))
            }
            Self::Curve(curve) => Ok(Self::Curve(curve.clone().times(count))),
        }
    }

    /// Returns rho, where nothing is claimed of sampling.
    pub fn rho(&self) -> Option<Rho> {
        match self {
            Self::Rho(rho) => Some(*rho),
            Self::Curve(_) => None,
        }
    }

    /// Names the accountant.
    pub fn accountant(&self) -> Accountant {
        match self {
            Self::Rho(_) => Accountant::Zcdp,
            Self::Curve(_) => Accountant::Rdp,
        }
    }

    /// Converts the cost.
    ///
    /// # Errors
    /// [`ClaimError::Unbounded`] if the accountant bounds nothing.
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

/// Asks the privacy loss distribution about releases of one kind with Poisson sampling. It is tighter than [`Cost`], and
/// adds up with nothing else: no budget is kept by it. None where one release tells too much for it.
pub fn epsilon_by_loss_distribution(
    rate: SamplingRate,
    noise_multiplier: NoiseMultiplier,
    releases: u64,
    delta: Delta,
) -> Option<Epsilon> {
    poisson_gaussian_epsilon(rate, noise_multiplier, releases, delta)
}
