use serde::{Deserialize, Serialize};

/// `POST /v1/assignments/{id}/abort`: the client gives up the assignment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AbortRequest {
    /// The reason.
    pub reason: AbortReason,
    /// Details for people to read, at most [`crate::limits::TEXT_BYTES_MAX`] bytes. Never contains the user's data.
    #[serde(default)]
    pub detail: String,
}

/// Why a client gave an assignment up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AbortReason {
    /// The device no longer meets the conditions (charging, unmetered, idle).
    ConditionsEnded,
    /// The plan, model or weights could not be fetched or verified.
    FetchFailed,
    /// This client does not support something in the plan.
    PlanUnsupported,
    /// Training failed, for example because of missing examples, a non-finite loss or too little memory.
    TrainingFailed,
    /// The deadline can no longer be met.
    DeadlinePassed,
    /// The app or its user stopped it.
    Stopped,
    /// The client lost its state.
    StateLost,
    /// The client declines this assignment. It need not give a reason.
    Declined,
}
