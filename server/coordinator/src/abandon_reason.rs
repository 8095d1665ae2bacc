use serde::{Deserialize, Serialize};

/// Why a round came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbandonReason {
    /// Not enough eligible clients checked in before the selection deadline.
    TooFewClients,
    /// Not enough updates were accepted before the reporting deadline.
    TooFewReports,
    /// The task was paused.
    TaskPaused,
    /// The task was cancelled.
    TaskCancelled,
    /// The task is over.
    TaskCompleted,
    /// Meanwhile the privacy budget was spent, or set otherwise: what was made is not released.
    PrivacyBudget,
    /// The accepted updates cannot be combined, or what they make cannot be stored: trying again would fail again. The
    /// coordinator's log says why.
    CommitFailed,
    /// The model fell so far behind its best version that the task returns to that one.
    RolledBack,
}

impl AbandonReason {
    /// Says whether it ends a round whose updates are being combined: what they make is thrown away.
    pub fn ends_an_aggregation(self) -> bool {
        matches!(self, AbandonReason::PrivacyBudget | AbandonReason::CommitFailed)
    }
}
