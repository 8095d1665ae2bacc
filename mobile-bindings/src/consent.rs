use std::sync::Arc;

use folkmoot_client::protocol::{Plan, messages::Assignment};

use crate::CallbackError;

/// Accepts or declines assignments. Implement this in the app.
#[uniffi::export(with_foreign)]
pub trait ConsentCallback: Send + Sync {
    /// Returns whether to accept this assignment. Called on its own thread after the plan has arrived and before
    /// anything else is fetched. Return quickly. An error declines the assignment. The coordinator does not learn the
    /// reason.
    fn ask(&self, offer: AssignmentOffer) -> Result<bool, CallbackError>;
}

/// An assignment, as shown to the app before the client accepts it.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct AssignmentOffer {
    /// The assignment.
    pub assignment_id: String,
    /// The task.
    pub task_id: String,
    /// The round's number in its task.
    pub round_number: u64,
    /// The model version that training starts from.
    pub base_version: u64,
    /// The maximum number of bytes that would still be downloaded.
    pub download_bytes: u64,
    /// The plan as JSON, as sent by the coordinator.
    pub plan: String,
}

/// Calls the app's callback with a translated offer.
pub(crate) fn ask(
    callback: Arc<dyn ConsentCallback>,
) -> impl Fn(&Assignment, &Plan) -> bool + Send + Sync + 'static {
    move |assignment, plan| {
        callback.ask(AssignmentOffer::of(assignment, plan)).unwrap_or_else(|error| {
            tracing::warn!(%error, "the app's consent callback failed, so the assignment is declined");
            false
        })
    }
}

impl AssignmentOffer {
    fn of(assignment: &Assignment, plan: &Plan) -> Self {
        Self {
            assignment_id: assignment.assignment_id.to_string(),
            task_id: assignment.task_id.to_string(),
            round_number: assignment.round_number,
            base_version: assignment.base_version,
            download_bytes: assignment.model.bytes + assignment.weights.bytes,
            plan: plan_json(plan),
        }
    }
}

/// Serializes a plan as JSON.
pub(crate) fn plan_json(plan: &Plan) -> String {
    serde_json::to_string(plan).expect("a plan has string keys only")
}
