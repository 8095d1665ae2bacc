//! The round's state machine. It maps facts to the next phase and to effects for a driver.

mod awaited;
mod cohort;
mod flow;
mod phase;
#[cfg(test)]
mod preferred;
#[cfg(test)]
mod samples;
mod secure;
mod secure_step;
mod step;

pub use crate::abandon_reason::AbandonReason;
pub use awaited::Awaited;
use folkmoot_protocol::{RoundId, TaskId};
pub use phase::{Outcome, Phase};
pub use secure_step::SecureStep;
use serde::{Deserialize, Serialize};
pub use step::{Collected, Effect, Gathered, InvalidTransitionError, RoundInput, Rules};

/// One cycle of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The id of the round.
    pub id: RoundId,
    /// The id of the task.
    pub task_id: TaskId,
    /// The round's number in the task. It starts at 1 and includes abandoned rounds.
    pub number: u64,
    /// The purpose of the round.
    pub purpose: Purpose,
    /// The newest model version when the round began. Its clients start from it, or evaluate it.
    pub base_version: u64,
    /// The current phase.
    pub phase: Phase,
}

impl Round {
    /// Returns whether the task itself made the round fail: too few updates were accepted, they could not be combined, or the task's
    /// own selection failed.
    pub fn has_failed(&self) -> bool {
        use AbandonReason::{CommitFailed, SelectionFailed, TooFewReports};
        let reasons = [TooFewReports, CommitFailed, SelectionFailed];
        let is_of_task = matches!(self.phase, Phase::Abandoned { reason, .. } if reasons.contains(&reason));
        is_of_task && self.purpose == Purpose::Training
    }
}

/// The purpose of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Makes the next model version.
    #[default]
    Training,
    /// Measures a model version on the clients' data.
    Evaluation,
}

impl Purpose {
    /// Returns the purpose's name, as the API and the database show it.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Training => "training",
            Purpose::Evaluation => "evaluation",
        }
    }
}
