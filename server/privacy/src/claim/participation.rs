use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::ClaimError;
use crate::accountant::ParticipationPattern;
use crate::budget::SamplingRate;

/// The guarantees that selection gives in every round of a task. The caller must state only what selection enforces.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnforcedParticipation {
    /// The maximum number of releases that a client can be in over the life of the task; `None` without a cap.
    pub participations_max: Option<NonZeroU64>,
    /// The minimum difference between the numbers of two rounds of one client; `None` without a separation.
    pub separation_rounds: Option<NonZeroU64>,
    /// The way in which selection draws the clients of a round.
    pub draw: EnforcedDraw,
}

/// The guaranteed way in which selection draws the clients of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
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
    /// Selection draws a cohort of fixed size, uniformly and secretly without replacement, from a population that is
    /// fixed beforehand. A member that does not answer counts as an update of zero.
    WithoutReplacement {
        /// The size of the population.
        population: NonZeroU64,
        /// The number of members drawn for each round.
        cohort: NonZeroU64,
    },
}

/// A cap on the releases that a client is in, no matter which ones: the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capped {
    participations_max: NonZeroU64,
}

/// A cap on participations and a minimum separation in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Separated {
    pattern: ParticipationPattern,
}

/// Poisson sampling: an independent coin for each member of the population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoissonSampled {
    rate: SamplingRate,
    participations_max: Option<NonZeroU64>,
}

/// A cohort of fixed size, drawn without replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedSize {
    population: NonZeroU64,
    cohort: NonZeroU64,
    participations_max: Option<NonZeroU64>,
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

    /// Returns the maximum number of releases, among `releases`, that a client can be in.
    pub fn participations(self, releases: u64) -> u64 {
        self.participations_max.get().min(releases)
    }
}

impl Separated {
    /// Creates the pattern from the separation that selection enforces, and from the cap if there is one.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if selection enforces no separation between a client's rounds.
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy = "set a minimum spacing of rounds in the eligibility rules";
        let separation = enforced.separation_rounds;
        let separation =
            separation.ok_or(ClaimError::NotEnforced { claim: "a minimum separation", remedy })?;
        let participations = enforced.participations_max.map_or(u64::MAX, NonZeroU64::get);
        let pattern = ParticipationPattern::new(participations, separation.get());
        Ok(Self { pattern: pattern.expect("both are above 0") })
    }

    /// Returns the participation pattern.
    pub fn pattern(self) -> ParticipationPattern {
        self.pattern
    }
}

impl PoissonSampled {
    /// Creates the sampling from the rate of the independent coins, and from the cap if there is one.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if selection does not draw by [`EnforcedDraw::IndependentCoins`].
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy =
            "draw every member of a fixed population by an independent coin, or claim no amplification";
        match enforced.draw {
            EnforcedDraw::IndependentCoins { rate } => {
                Ok(Self { rate, participations_max: enforced.participations_max })
            }
            _ => Err(ClaimError::NotEnforced { claim: "Poisson sampling", remedy }),
        }
    }

    /// Returns the probability with which a coin selects its member.
    pub fn rate(self) -> SamplingRate {
        self.rate
    }

    /// Returns the maximum number of releases, among `releases`, that a client can be in, for any result of the coins.
    pub fn participations(self, releases: u64) -> u64 {
        self.participations_max.map_or(releases, |most| most.get().min(releases))
    }
}

impl FixedSize {
    /// Creates the sampling from the sizes of population and cohort, and from the cap if there is one.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if selection does not draw by [`EnforcedDraw::WithoutReplacement`].
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy = "draw a fixed number from a fixed population, or claim no amplification";
        match enforced.draw {
            EnforcedDraw::WithoutReplacement { population, cohort } => {
                Ok(Self { population, cohort, participations_max: enforced.participations_max })
            }
            _ => Err(ClaimError::NotEnforced { claim: "a cohort of fixed size", remedy }),
        }
    }

    /// Returns the sizes of the population and of the cohort.
    pub fn sizes(self) -> (u64, u64) {
        (self.population.get(), self.cohort.get())
    }

    /// Returns the maximum number of releases, among `releases`, that a client can be in, for any result of the draws.
    pub fn participations(self, releases: u64) -> u64 {
        self.participations_max.map_or(releases, |most| most.get().min(releases))
    }
}
