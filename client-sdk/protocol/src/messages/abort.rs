use serde::{Deserialize, Serialize};

/// `POST /v1/assignments/{id}/abort`: the client gives the assignment up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AbortRequest {
    /// Why.
    pub reason: AbortReason,
    /// More for humans, at most [`crate::limits::TEXT_BYTES_MAX`] bytes; never data of the user's.
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
    /// The plan, model or weights could not be fetched or did not verify.
    FetchFailed,
    /// The plan needs something that this client cannot do.
    PlanUnsupported,
    /// Training failed: no examples, a loss that is not finite, too little memory.
    TrainingFailed,
    /// The deadline cannot be met any more.
    DeadlinePassed,
    /// The app or its user stopped it.
    Stopped,
    /// The client lost its state.
    StateLost,
    /// The client does not take part in this one, and need not say why.
    Declined,
}
