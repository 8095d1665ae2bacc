use folkmoot_protocol::messages::AbortReason;

use crate::OverBudget;

/// Work that failed, as reported to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkError {
    /// The reason.
    pub reason: AbortReason,
    /// Details for people to read. Never contains the user's data.
    pub detail: String,
    /// The app's limit that was exceeded. It is for the app's user and is never sent.
    pub over_budget: Option<OverBudget>,
}

impl WorkError {
    /// Creates an error from a reason and details for people to read.
    pub fn new(reason: AbortReason, detail: impl ToString) -> Self {
        Self { reason, detail: detail.to_string(), over_budget: None }
    }

    /// The error of a declined assignment. The detail is always empty, so that it does not reveal the cause.
    pub fn declined() -> Self {
        Self::new(AbortReason::Declined, "")
    }

    /// Returns whether the client declined the assignment. If so, the client also deletes the task's memory, because
    /// the memory was computed from the same examples.
    pub fn is_declined(&self) -> bool {
        self.reason == AbortReason::Declined
    }
}

impl From<OverBudget> for WorkError {
    /// Converts the error to a declined assignment. The coordinator cannot distinguish it from any other declined
    /// assignment.
    fn from(over: OverBudget) -> Self {
        Self { over_budget: Some(over), ..Self::declined() }
    }
}
