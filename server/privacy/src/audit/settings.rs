use serde::{Deserialize, Serialize};

use crate::budget::{Delta, RangeError};

/// The maximum number of canaries. Beyond it, the bounds hardly improve.
pub const CANARIES_MAX: u64 = 100_000;

/// The maximum number of trials.
const TRIALS_MAX: usize = 16;

/// The settings of an audit, which must be fixed before anybody looks at the scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditSettings {
    /// The numbers of canaries to guess. Each number is one trial; half of its guesses are "in" and half are "out". All
    /// trials share the confidence, so more trials weaken each bound (a union bound).
    pub guesses: Vec<u64>,
    /// The probability, in (0, 1), with which all bounds of one kind are at most the true value.
    pub confidence: f64,
    /// The delta at which epsilon is bounded.
    pub delta: Delta,
}

/// An audit that cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AuditError {
    /// A number is out of its range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A score is NaN.
    #[error(
        "score {index} of the canaries that were {side} is NaN; give every canary that cannot be scored the same \
         number, whether it was in or out"
    )]
    NotANumber {
        /// The index of the first score that is NaN.
        index: usize,
        /// The canaries that the score belongs to: "in" or "out".
        side: &'static str,
    },
}

impl AuditSettings {
    /// Returns the usual settings for a number of canaries: a confidence of 0.95 and three trials, which guess all, a
    /// quarter and a sixteenth of the canaries.
    ///
    /// Many guesses bound μ best if the canaries are hidden independently. Few guesses bound epsilon best.
    pub fn for_canaries(canaries: u64, delta: Delta) -> Self {
        let mut guesses: Vec<u64> = [1, 4, 16].map(|part| canaries / part).into();
        guesses.retain(|guesses| *guesses > 0);
        Self { guesses, confidence: 0.95, delta }
    }

    /// Checks the settings against the number of canaries.
    pub(super) fn check(&self, canaries: u64) -> Result<(), RangeError> {
        let is_right = (1..=CANARIES_MAX).contains(&canaries);
        RangeError::unless(
            is_right,
            "number of canaries",
            canaries as f64,
            "at least 1 and at most 100,000",
        )?;
        let is_right = self.confidence > 0.0 && self.confidence < 1.0;
        RangeError::unless(is_right, "confidence", self.confidence, "above 0 and below 1")?;
        let trials = self.guesses.len();
        let is_right = (1..=TRIALS_MAX).contains(&trials);
        RangeError::unless(is_right, "number of trials", trials as f64, "at least 1 and at most 16")?;
        let wrong = self.guesses.iter().find(|guesses| !(1..=canaries).contains(*guesses));
        let guesses = wrong.copied().unwrap_or(1);
        RangeError::unless(
            wrong.is_none(),
            "number of guesses",
            guesses as f64,
            "at least 1 and at most the number of canaries",
        )
    }
}
