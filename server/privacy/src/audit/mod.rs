//! Privacy audits: a lower bound on the privacy loss of one run, measured by canaries.
//!
//! A canary is an update that the auditor knows, with the largest allowed norm. For each of m canaries, a fair coin
//! decides whether it takes part, for all of its rounds at once. The auditor computes a score for every canary from the
//! released values alone. A higher score means that the canary more likely took part. The highest scores are then
//! guessed to be in and the lowest to be out; the canaries between are not guessed. The number of right guesses bounds
//! the privacy of the run from below (Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run";
//! Mahloujifar, Melis and Chaudhuri 2025, "Auditing f-differential privacy in one run").
//!
//! An audit finds noise that is missing, too small or used twice, and updates that are not clipped. It never shows that
//! a run is private: a low bound may also mean weak canaries or a weak score.
//!
//! # Canaries for a sum with noise
//! The strongest canaries have the clipping norm and either use separate coordinates or are orthogonal, so that none
//! hides another. The score is the inner product of the canary with the noised sum minus the known sum of the other
//! clients, added up over the canary's rounds. With k rounds and the noise multiplier z, the mean scores of canaries
//! that are in and of those that are out differ by √k/z standard deviations. That distance is the μ of the claim ρ =
//! μ²/2.
//!
//! | bound | holds for | assumes |
//! |---|---|---|
//! | `epsilon_lower` | any mechanism | fair and independent coins |
//! | `mu_lower` | any mechanism that hides each canary as one Gaussian release with μ does | the same |
//! | `independent_mu_lower` | the same | also: the noise that hides one canary is independent of the noise that hides the others |
//!
//! The third bound is by far the sharpest. Independent noise is part of the claim, so if this bound contradicts the
//! claim, the noise is too small or not independent.

mod correlated;
mod guesses;
mod independent;
mod pure;
mod settings;
#[cfg(test)]
mod tests;

pub use settings::{AuditError, AuditSettings, CANARIES_MAX};

use serde::{Deserialize, Serialize};

use crate::accountant::gaussian_epsilon_of_mu;
use crate::budget::{Delta, Epsilon, Rho};
use crate::noise_multiplier::NoiseMultiplier;

/// Lower bounds on the privacy loss of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// The number of canaries, both in and out.
    pub canaries: u64,
    /// The probability with which all bounds of one kind are at most the true value.
    pub confidence: f64,
    /// The delta of the epsilons.
    pub delta: Delta,
    /// The trials. Each has a number of guesses, and the bounds that follow from the number of right ones.
    pub trials: Vec<Trial>,
    /// A lower bound on epsilon for any mechanism.
    pub epsilon_lower: Epsilon,
    /// A lower bound on μ for any mechanism.
    pub mu_lower: f64,
    /// The epsilon of a Gaussian release with `mu_lower`.
    pub epsilon_of_mu_lower: Epsilon,
    /// A lower bound on μ if the canaries were hidden independently of each other.
    pub independent_mu_lower: f64,
    /// The epsilon of a Gaussian release with `independent_mu_lower`.
    pub epsilon_of_independent_mu_lower: Epsilon,
}

/// The result for one number of guesses: the number of right guesses, and the bounds that follow from it. With the
/// confidence of the audit, the bounds of all trials hold simultaneously.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The number of canaries that were guessed.
    pub guesses: u64,
    /// The number of right guesses. Among equal scores, wrong guesses are counted first.
    pub right: u64,
    /// The bound on epsilon.
    pub epsilon_lower: Epsilon,
    /// The bound on μ.
    pub mu_lower: f64,
    /// The bound on μ for canaries that are hidden independently.
    pub independent_mu_lower: f64,
}

/// A claim about an audited run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AuditedClaim {
    /// A claimed epsilon at the audit's delta, for any mechanism.
    Epsilon {
        /// The claimed epsilon.
        epsilon: Epsilon,
    },
    /// Every canary is hidden at least as well as by one Gaussian release with this μ.
    Gaussian {
        /// The sensitivity over the standard deviation.
        mu: f64,
    },
    /// As [`AuditedClaim::Gaussian`], and the noise that hides each canary is independent of the noise that hides the
    /// others. This holds for orthogonal canaries and Gaussian noise that is independent in every coordinate.
    IndependentGaussian {
        /// The sensitivity over the standard deviation.
        mu: f64,
    },
}

impl AuditedClaim {
    /// Returns the claim of independent Gaussian noise on the sums of rounds: μ = √k/z with k participations.
    pub fn of_gaussian(multiplier: NoiseMultiplier, participations: u64) -> Self {
        Self::IndependentGaussian { mu: (participations as f64).sqrt() / multiplier.get() }
    }

    /// Returns the claim of independent Gaussian noise with this ρ = μ²/2.
    pub fn of_gaussian_rho(rho: Rho) -> Self {
        Self::IndependentGaussian { mu: (2.0 * rho.get()).sqrt() }
    }
}

impl Audit {
    /// Audits a run from the scores of its canaries. `of_those_in` holds the scores of the canaries that were put in,
    /// `of_those_out` those of the canaries that were left out.
    ///
    /// A score may be any number or ±∞. It must be a function of the release and of the canary, not of the coin.
    ///
    /// # Errors
    /// [`AuditError`] if a score is NaN, there is no canary or more than [`CANARIES_MAX`], or a setting is out of
    /// range.
    pub fn of_scores(
        of_those_in: &[f64],
        of_those_out: &[f64],
        settings: &AuditSettings,
    ) -> Result<Self, AuditError> {
        let canaries = (of_those_in.len() + of_those_out.len()) as u64;
        settings.check(canaries)?;
        let scores = guesses::Scores::new(of_those_in, of_those_out)?;
        let miss = (1.0 - settings.confidence) / settings.guesses.len() as f64;
        let trial = |&guesses: &u64| {
            let right = scores.right(guesses);
            let question = Question { canaries, guesses, right, miss };
            Trial {
                guesses,
                right,
                epsilon_lower: pure::epsilon_lower(question, settings.delta),
                mu_lower: correlated::mu_lower(question),
                independent_mu_lower: independent::mu_lower(question),
            }
        };
        let trials: Vec<Trial> = settings.guesses.iter().map(trial).collect();
        let best = |bound: fn(&Trial) -> f64| trials.iter().map(bound).fold(0.0, f64::max);
        let (mu_lower, independent_mu_lower) =
            (best(|trial| trial.mu_lower), best(|trial| trial.independent_mu_lower));
        let epsilon_lower = best(|trial| trial.epsilon_lower.get());
        Ok(Self {
            canaries,
            confidence: settings.confidence,
            delta: settings.delta,
            epsilon_lower: Epsilon::new(epsilon_lower).expect("the largest of some epsilons and 0"),
            mu_lower,
            epsilon_of_mu_lower: gaussian_epsilon_of_mu(mu_lower, settings.delta),
            independent_mu_lower,
            epsilon_of_independent_mu_lower: gaussian_epsilon_of_mu(independent_mu_lower, settings.delta),
            trials,
        })
    }

    /// Returns whether the audit refutes the claim at its confidence level.
    pub fn contradicts(&self, claim: AuditedClaim) -> bool {
        match claim {
            AuditedClaim::Epsilon { epsilon } => self.epsilon_lower > epsilon,
            AuditedClaim::Gaussian { mu } => self.mu_lower > mu,
            AuditedClaim::IndependentGaussian { mu } => self.independent_mu_lower > mu,
        }
    }
}

/// The outcome of one trial's guesses.
#[derive(Clone, Copy, Debug)]
struct Question {
    canaries: u64,
    guesses: u64,
    right: u64,
    /// The probability with which a bound may be above the true value.
    miss: f64,
}

/// Finds the largest parameter up to `most` for which `is_refuted` returns `true`, rounded down to a relative precision
/// of a millionth. Returns 0 if no parameter is refuted.
///
/// A claim that holds for a parameter also holds for any larger parameter. So every refuted parameter is a lower bound
/// on the true one.
fn largest_refuted(most: f64, is_refuted: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0f64.min(most));
    while is_refuted(high) {
        if high >= most {
            return most;
        }
        (low, high) = (high, (2.0 * high).min(most));
    }
    while high - low > 1e-6 * high && high > 1e-9 {
        let middle = 0.5 * (low + high);
        if is_refuted(middle) { low = middle } else { high = middle }
    }
    low
}
