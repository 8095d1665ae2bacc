use serde::{Deserialize, Serialize};

/// The reason why a round was abandoned.
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
    /// The task completed.
    TaskCompleted,
    /// While updates were being combined, the privacy budget was spent or changed. The new version is not
    /// released.
    PrivacyBudget,
    /// The accepted updates cannot be combined, or the result cannot be stored. A retry would fail again. The
    /// coordinator's log gives the cause.
    CommitFailed,
    /// The task's own selection failed. The coordinator's log gives the cause.
    SelectionFailed,
    /// The metric became so much worse than that of the best version that the task rolls back to the best version.
    RolledBack,
}

impl AbandonReason {
    /// Returns the reason's name, as the API, logs and the console show it.
    pub fn name(self) -> &'static str {
        match self {
            AbandonReason::TooFewClients => "too_few_clients",
            AbandonReason::TooFewReports => "too_few_reports",
            AbandonReason::TaskPaused => "task_paused",
            AbandonReason::TaskCancelled => "task_cancelled",
            AbandonReason::TaskCompleted => "task_completed",
            AbandonReason::PrivacyBudget => "privacy_budget",
            AbandonReason::CommitFailed => "commit_failed",
            AbandonReason::SelectionFailed => "selection_failed",
            AbandonReason::RolledBack => "rolled_back",
        }
    }

    /// Returns whether this reason can end a round that is already aggregating. The result is then discarded.
    pub fn ends_an_aggregation(self) -> bool {
        matches!(self, AbandonReason::PrivacyBudget | AbandonReason::CommitFailed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_one_name() {
        use AbandonReason::*;
        let all = [
            TooFewClients,
            TooFewReports,
            TaskPaused,
            TaskCancelled,
            TaskCompleted,
            PrivacyBudget,
            CommitFailed,
            SelectionFailed,
            RolledBack,
        ];
        for reason in all {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}
