use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AssignmentId, BlobDigest, Recipe, RoundId, TaskId, Timestamp};

/// `POST /v1/check-in?wait_seconds=…`: a client offers itself.
///
/// The request waits for an assignment for as long as the query says (at most
/// [`crate::limits::LONG_POLL_SECONDS_MAX`]). Asking again while an assignment is open gives the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckInRequest {
    /// The SDK's version, for eligibility and statistics.
    pub sdk_version: String,
    /// How many examples the client holds.
    pub example_count: u64,
    /// What else the app chooses to tell, for eligibility.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// The codecs that the client can write, by name: it is asked for no other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codecs: Vec<String>,
}

/// The answer to [`CheckInRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CheckInResponse {
    /// The client was drawn.
    Assigned {
        /// What it is to do.
        assignment: Assignment,
    },
    /// Not now: ask again after a time within this window, drawn by the client.
    Wait {
        /// The earliest moment, in milliseconds from now.
        retry_after_milliseconds_min: u64,
        /// The latest moment.
        retry_after_milliseconds_max: u64,
        /// The newest weights, which the client may fetch meanwhile, to have them when it is drawn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offered: Option<Artifact>,
    },
}

/// One client's part in one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Assignment {
    /// Its id, which is also the idempotency key of the upload.
    pub assignment_id: AssignmentId,
    /// The task.
    pub task_id: TaskId,
    /// The round.
    pub round_id: RoundId,
    /// The round's number in its task, from 1.
    pub round_number: u64,
    /// The model version from which to start.
    pub base_version: u64,
    /// The [`crate::Plan`], as JSON.
    pub plan: Artifact,
    /// The ONNX model.
    pub model: Artifact,
    /// The weights of the base version: float32, little-endian, in the order of the plan's schema.
    pub weights: Artifact,
    /// The update must have arrived by then, by the coordinator's clock.
    pub deadline: Timestamp,
    /// Milliseconds from this answer to the deadline, for clients whose clock is wrong.
    pub deadline_in_milliseconds: u64,
    /// The largest L2 norm that the update may have over all tensors, in steps of the plan's grid
    /// (2^-fraction_bits); none where updates are not clipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipping_norm: Option<u64>,
    /// How the update travels; none where it travels as float32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub recipe: Option<Box<Recipe>>,
}

/// A blob to fetch, by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Artifact {
    /// The SHA-256 of its bytes; the client verifies it.
    pub digest: BlobDigest,
    /// The number of its bytes.
    pub bytes: u64,
}
