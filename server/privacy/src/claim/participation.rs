use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::ClaimError;
use crate::accountant::ParticipationPattern;
use crate::budget::SamplingRate;

/// What selection makes sure of, in every round of a task. It is the wiring's duty to say no more than is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnforcedParticipation {
    /// In how many releases a client can be, over the life of the task.
    pub participations_max: Option<NonZeroU64>,
    /// By how much the numbers of two rounds of one client differ at least.
    pub separation_rounds: Option<NonZeroU64>,
    /// How a round's clients are drawn.
    pub draw: EnforcedDraw,
}

/// How a round's clients are drawn, as far as it is certain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum EnforcedDraw {
    /// From those that wait. Who waits, and when, is not random, so nothing is amplified.
    #[default]
    FromWaiting,
    /// By an independent secret coin of the coordinator for every member of a population that is fixed beforehand. A release
    /// is one draw, whatever came of it: none is made anew because it brought too few. The cohort is not capped, a member
    /// that does not answer counts as an update of zero, and nothing but the release follows from the draw: no size of a
    /// cohort is told, and no moment depends on it.
    IndependentCoins {
        /// The probability of each coin.
        rate: SamplingRate,
    },
    /// Uniformly and secretly without replacement from a population that is fixed beforehand, always so many. A member
    /// that does not answer counts as an update of zero.
    WithoutReplacement {
        /// The population's size.
        population: NonZeroU64,
        /// How many are drawn.
        cohort: NonZeroU64,
    },
}

/// At most so many participations, whichever they are: the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capped {
    participations_max: NonZeroU64,
}

/// At most so many participations, at least so many rounds apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Separated {
    pattern: ParticipationPattern,
}

/// Independent coins.
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
    /// Takes the cap.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if nothing caps the participations.
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy = "limit the participations of a client in the selection";
        let participations_max = enforced.participations_max;
        let participations_max =
            participations_max.ok_or(ClaimError::NotEnforced { claim: "a cap on participations", remedy })?;
        Ok(Self { participations_max })
    }

    /// Returns in how many of so many releases a client can be.
    pub fn participations(self, releases: u64) -> u64 {
        self.participations_max.get().min(releases)
    }
}

impl Separated {
    /// Takes the separation, with the cap if there is one.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if nothing keeps a client's rounds apart.
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy = "set a spacing of rounds in the eligibility";
        let separation = enforced.separation_rounds;
        let separation =
            separation.ok_or(ClaimError::NotEnforced { claim: "a minimum separation", remedy })?;
        let participations = enforced.participations_max.map_or(u64::MAX, NonZeroU64::get);
        let pattern = ParticipationPattern::new(participations, separation.get());
        Ok(Self { pattern: pattern.expect("both are above 0") })
    }

    /// Returns the pattern.
    pub fn pattern(self) -> ParticipationPattern {
        self.pattern
    }
}

impl PoissonSampled {
    /// Takes the coins.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if the draw is another one, or is not from a fixed population.
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

    /// Returns the probability.
    pub fn rate(self) -> SamplingRate {
        self.rate
    }

    /// Returns in how many of so many releases a client can be, however the coins fall.
    pub fn participations(self, releases: u64) -> u64 {
        self.participations_max.map_or(releases, |most| most.get().min(releases))
    }
}

impl FixedSize {
    /// Takes the draw.
    ///
    /// # Errors
    /// [`ClaimError::NotEnforced`] if the draw is another one, or is not from a fixed population.
    pub fn from_enforced(enforced: &EnforcedParticipation) -> Result<Self, ClaimError> {
        let remedy = "draw a fixed number from a fixed population, or claim no amplification";
        match enforced.draw {
            EnforcedDraw::WithoutReplacement { population, cohort } => {
                Ok(Self { population, cohort, participations_max: enforced.participations_max })
            }
            _ => Err(ClaimError::NotEnforced { claim: "a cohort of fixed size", remedy }),
        }
    }

    /// Returns (population, cohort).
    pub fn sizes(self) -> (u64, u64) {
        (self.population.get(), self.cohort.get())
    }

    /// Returns in how many of so many releases a client can be, however the draws fall.
    pub fn participations(self, releases: u64) -> u64 {
        self.participations_max.map_or(releases, |most| most.get().min(releases))
    }
}
