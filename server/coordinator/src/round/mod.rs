//! The round's state machine: facts in, the next phase and the effects for a driver out.

mod phase;
mod step;

use folkmoot_protocol::{RoundId, TaskId};
pub use phase::{AbandonReason, Phase};
use serde::{Deserialize, Serialize};
pub use step::{Effect, InvalidTransitionError, RoundInput};

/// One cycle of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Its id.
    pub id: RoundId,
    /// The task.
    pub task_id: TaskId,
    /// Its number in the task, from 1, abandoned rounds included.
    pub number: u64,
    /// The model version from which its clients start.
    pub base_version: u64,
    /// Where it stands.
    pub phase: Phase,
}
