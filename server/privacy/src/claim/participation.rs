use std::num::NonZeroU64;

use super::ClaimError;
use crate::budget::SamplingRate;

/// The guarantees that selection gives in every round of a task. The caller must state only what selection enforces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnforcedParticipation {
    /// The maximum number of releases that a client can be in over the life of the task; `None` without a cap.
    pub participations_max: Option<NonZeroU64>,
    /// The minimum difference between the numbers of two rounds of one client; `None` without a separation.
    pub separation_rounds: Option<NonZeroU64>,
    /// The way in which selection draws the clients of a round.
    pub draw: EnforcedDraw,
}

/// The guaranteed way in which selection draws the clients of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum EnforcedDraw {
    /// Selection draws from the waiting clients. The set of waiting clients is not random, so nothing is amplified.
    #[default]
    FromWaiting,
    /// Poisson sampling from a fixed population: for every release, the coordinator tosses an independent secret coin
    /// for each member.
    ///
    /// Every draw counts as one release and is never repeated, even if it selects few or no clients. The cohort has no
    /// cap, and a member that does not answer counts as an update of zero. Only the release depends on the draw: the
    /// size of a cohort is never disclosed, and no timing depends on the draw.
    IndependentCoins {
        /// The probability with which a coin selects its member.
        rate: SamplingRate,
    },
}

/// A cap on the releases that a client is in, no matter which ones: the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capped {
    participations_max: NonZeroU64,
}

/// A minimum separation between the rounds of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Separated(());

/// Poisson sampling: an independent coin for each member of the population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoissonSampled {
    rate: SamplingRate,
}

impl Capped {
    /// Creates the cap that selection enforces.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if selection does not cap the participations.
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy = "limit the participations of a client in the selection rules";
        let participations_max = enforced.participations_max;
        let participations_max =
            participations_max.ok_or(ClaimError::NotEnforced { claim: "a cap on participations", remedy })?;
        Ok(Self { participations_max })
    }

    /// Returns the maximum number of releases that a client can be in.
    pub fn participations_max(self) -> u64 {
        self.participations_max.get()
    }
}

impl Separated {
    /// Creates the separation that selection enforces.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if selection enforces no separation between a client's rounds.
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy = "set a minimum spacing of rounds in the eligibility rules";
        match enforced.separation_rounds {
            Some(_) => Ok(Self(())),
            None => Err(ClaimError::NotEnforced { claim: "a minimum separation", remedy }),
        }
    }
}

impl PoissonSampled {
    /// Creates the sampling from the rate of the independent coins.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if selection does not draw by [`EnforcedDraw::IndependentCoins`].
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy =
            "draw every member of a fixed population by an independent coin, or claim no amplification";
        match enforced.draw {
            EnforcedDraw::IndependentCoins { rate } => Ok(Self { rate }),
            EnforcedDraw::FromWaiting => Err(ClaimError::NotEnforced { claim: "Poisson sampling", remedy }),
        }
    }

    /// Returns the probability with which a coin selects its member.
    pub fn rate(self) -> SamplingRate {
        self.rate
    }
}
