use serde::{Deserialize, Serialize};

use super::{PauseReason, StopReason};

/// The state of a task: `Draft → Active ⇄ Paused → Completed | Cancelled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskState {
    /// Created, but not started.
    Draft,
    /// The task runs rounds.
    Active {
        /// Abandoned rounds up to this number are not counted towards the next pause, because an operator resumed the
        /// task after them.
        #[serde(default)]
        after_round: u64,
    },
    /// No rounds start, and the open round was abandoned.
    Paused {
        /// The reason, if the coordinator paused it; `None` if an operator did.
        #[serde(default)]
        reason: Option<PauseReason>,
        /// The value of `after_round` in the state [`TaskState::Active`] after a resume.
        #[serde(default)]
        after_round: u64,
    },
    /// A stop condition was met.
    Completed {
        /// The stop condition that was met.
        reason: StopReason,
    },
    /// An operator ended it.
    Cancelled,
}

/// An event that may change a task's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskInput {
    /// An operator starts it.
    Activate,
    /// An operator pauses it.
    Pause,
    /// The coordinator pauses it.
    PauseFor(PauseReason),
    /// An operator resumes it.
    Resume,
    /// An operator cancels it.
    Cancel,
    /// A stop condition was met.
    Complete(StopReason),
}

/// A transition that the task's state does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task that is {from} cannot {verb}")]
pub struct InvalidTaskTransitionError {
    from: &'static str,
    verb: &'static str,
}

impl TaskState {
    /// The state of a newly started task.
    pub const ACTIVE: TaskState = TaskState::Active { after_round: 0 };
    /// The state of a task that an operator paused.
    pub const PAUSED: TaskState = TaskState::Paused { reason: None, after_round: 0 };

    /// The names of all states.
    pub const NAMES: [&str; 5] = ["draft", "active", "paused", "completed", "cancelled"];

    /// Returns the state's name, as the API, the database and the console show it.
    pub fn name(&self) -> &'static str {
        match self {
            TaskState::Draft => "draft",
            TaskState::Active { .. } => "active",
            TaskState::Paused { .. } => "paused",
            TaskState::Completed { .. } => "completed",
            TaskState::Cancelled => "cancelled",
        }
    }

    /// Returns whether the task runs rounds.
    pub fn is_active(&self) -> bool {
        matches!(self, TaskState::Active { .. })
    }

    /// Returns whether no further transition is possible.
    pub fn is_final(&self) -> bool {
        matches!(self, TaskState::Completed { .. } | TaskState::Cancelled)
    }

    /// Returns the next state. An event that asks for the current state changes nothing.
    ///
    /// # Errors
    /// [`InvalidTaskTransitionError`] if the state does not allow the event.
    pub fn step(self, input: TaskInput) -> Result<TaskState, InvalidTaskTransitionError> {
        use TaskState::{Active, Cancelled, Completed, Draft, Paused};
        let refused = |verb| Err(InvalidTaskTransitionError { from: self.name(), verb });
        match (self, input) {
            (Draft, TaskInput::Activate) => Ok(Self::ACTIVE),
            (Active { .. }, TaskInput::Activate) => Ok(self),
            (_, TaskInput::Activate) => refused("be activated"),
            (Active { after_round }, TaskInput::Pause) => Ok(Paused { reason: None, after_round }),
            (Paused { .. }, TaskInput::Pause) => Ok(self),
            (Active { .. }, TaskInput::PauseFor(reason)) => {
                Ok(Paused { reason: Some(reason), after_round: reason.last_round() })
            }
            (_, TaskInput::Pause | TaskInput::PauseFor(_)) => refused("be paused"),
            (Active { .. }, TaskInput::Resume) => Ok(self),
            (Paused { after_round, .. }, TaskInput::Resume) => Ok(Active { after_round }),
            (_, TaskInput::Resume) => refused("be resumed"),
            (Completed { .. }, TaskInput::Cancel) => refused("be cancelled"),
            (_, TaskInput::Cancel) => Ok(Cancelled),
            (Active { .. } | Paused { .. }, TaskInput::Complete(reason)) => Ok(Completed { reason }),
            (_, TaskInput::Complete(_)) => refused("be completed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_goes_its_way_and_no_other() {
        let active = TaskState::Draft.step(TaskInput::Activate).unwrap();
        let paused = active.step(TaskInput::Pause).unwrap();
        assert_eq!(paused.step(TaskInput::Resume), Ok(TaskState::ACTIVE));
        let completed = active.step(TaskInput::Complete(StopReason::Rounds)).unwrap();
        for input in [TaskInput::Activate, TaskInput::Pause, TaskInput::Resume, TaskInput::Cancel] {
            assert!(completed.step(input).is_err(), "{input:?}");
        }
        let reason = PauseReason::AbandonedRounds { rounds: 20, last_round: 31 };
        let stopped = active.step(TaskInput::PauseFor(reason)).unwrap();
        assert_eq!(stopped.step(TaskInput::Pause), Ok(stopped), "the reason is kept");
        let resumed = stopped.step(TaskInput::Resume).unwrap();
        assert_eq!(resumed, TaskState::Active { after_round: 31 });
        let again = resumed.step(TaskInput::Pause).unwrap().step(TaskInput::Resume);
        assert_eq!(again, Ok(resumed), "after_round is kept");
        assert!(paused.step(TaskInput::PauseFor(reason)).is_err());
        assert_eq!(
            TaskState::Draft.step(TaskInput::Pause).unwrap_err().to_string(),
            "a task that is draft cannot be paused"
        );
    }
}
