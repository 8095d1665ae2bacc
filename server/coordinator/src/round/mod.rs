//! The round's state machine: facts in, the next phase and the effects for a driver out.

mod cohort;
mod flow;
mod phase;
mod step;

pub use crate::abandon_reason::AbandonReason;
use folkmoot_protocol::{RoundId, TaskId};
pub use phase::Phase;
use serde::{Deserialize, Serialize};
pub use step::{Collected, Effect, Gathered, InvalidTransitionError, RoundInput, Rules};

/// One cycle of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Its id.
    pub id: RoundId,
    /// The task.
    pub task_id: TaskId,
    /// Its number in the task, from 1, abandoned rounds included.
    pub number: u64,
    /// What it is for.
    pub purpose: Purpose,
    /// The newest model version when it began: from it its clients start, and it is the one that is evaluated.
    pub base_version: u64,
    /// Where it stands.
    pub phase: Phase,
}

impl Round {
    /// Says whether clients trained in it in vain: too few of their updates came for a version, or they could not be combined.
    pub fn is_abandoned_in_vain(&self) -> bool {
        use AbandonReason::{CommitFailed, TooFewReports};
        let is_abandoned =
            matches!(self.phase, Phase::Abandoned { reason: TooFewReports | CommitFailed, .. });
        is_abandoned && self.purpose == Purpose::Training
    }
}

/// What a round is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To make the next model version.
    #[default]
    Training,
    /// To measure a model version on the clients' data.
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
