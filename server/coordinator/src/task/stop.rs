use serde::{Deserialize, Serialize};

/// When a task is over. The first condition that is met ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopConditions {
    /// After this many committed rounds.
    pub rounds: u64,
}

/// Which condition ended a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The rounds were done.
    Rounds,
}

impl StopConditions {
    /// Says whether a task with `committed_rounds` is over, and why.
    pub fn met(&self, committed_rounds: u64) -> Option<StopReason> {
        (committed_rounds >= self.rounds).then_some(StopReason::Rounds)
    }
}
