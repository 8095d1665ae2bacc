use std::sync::Arc;

use folkmoot_client::protocol::{Plan, messages::Assignment};

use crate::CallbackError;

/// Answers whether an assignment is taken.
#[uniffi::export(with_foreign)]
pub trait ConsentCallback: Send + Sync {
    /// Asked when the plan has come and before anything else is fetched, on a thread of its own; it is to answer at once.
    /// What fails counts as no. The coordinator does not learn why.
    fn ask(&self, offer: AssignmentOffer) -> Result<bool, CallbackError>;
}

/// What is known of an assignment when the app is asked.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct AssignmentOffer {
    /// The assignment.
    pub assignment_id: String,
    /// The task.
    pub task_id: String,
    /// The round's number in its task.
    pub round_number: u64,
    /// The model version from which it starts.
    pub base_version: u64,
    /// Bytes that are still to be fetched, at most.
    pub download_bytes: u64,
    /// The plan as JSON, as the coordinator wrote it.
    pub plan: String,
}

/// Asks the app in its own words.
pub(crate) fn ask(
    callback: Arc<dyn ConsentCallback>,
) -> impl Fn(&Assignment, &Plan) -> bool + Send + Sync + 'static {
    move |assignment, plan| {
        callback.ask(AssignmentOffer::of(assignment, plan)).unwrap_or_else(|error| {
            tracing::warn!(%error, "the app could not be asked, which counts as no");
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

/// A plan as JSON.
pub(crate) fn plan_json(plan: &Plan) -> String {
    serde_json::to_string(plan).expect("a plan has string keys only")
}
