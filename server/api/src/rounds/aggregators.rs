//! The endpoints of edge aggregators, which take the updates of clients and send their sum.

use std::collections::BTreeMap;

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::{AssignmentId, ErrorCode, RoundId, TaskId, TensorSchema, messages::UploadStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most rounds that one request may name.
pub const ROUNDS_MAX: usize = 1_000;

/// An assignment, as an aggregator needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldAssignmentView {
    /// True if the aggregator keeps the update; false if it passes the client's requests on.
    pub is_held: bool,
    /// The task.
    pub task_id: TaskId,
    /// The round.
    pub round_id: RoundId,
    /// The version that the update is based on.
    pub base_version: u64,
}

/// A task, as an aggregator needs it to check and sum updates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HeldTaskView {
    /// The description of the task.
    #[schema(value_type = Object)]
    pub description: TaskDescription,
    /// The tensors that clients send.
    pub schema: TensorSchema,
}

/// The head of a client's request, without its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdmissionRequest {
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// `PUT` for a part of an update, `GET` for a question about its state.
    #[schema(max_length = 8)]
    pub method: String,
    /// The path of the request with its query, as the client has signed it.
    #[schema(max_length = 256)]
    pub path: String,
    /// The client's `folkmoot-` headers.
    #[schema(value_type = Object)]
    pub headers: BTreeMap<String, String>,
}

/// The coordinator's answer about a client's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AdmissionView {
    /// The answer to the client, if its update was accepted before.
    pub answer: Option<UploadStatus>,
    /// The largest allowed L2 norm of the update, in steps of the task's grid. Null if updates are not clipped.
    pub norm_max: Option<u64>,
}

/// An update that an aggregator has checked and made durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldUpdateRequest {
    /// The head of a request in which the client has sent a part of the update. The client has signed the digest and the
    /// length of the update there.
    pub head: AdmissionRequest,
    /// The encoding of its values: the name of a codec, `float32` or `masked`.
    #[schema(max_length = 64)]
    pub codec: String,
    /// The weight in the mean.
    pub weight: u64,
    /// The number of examples that the client has trained on; 0 if the task does not let clients say it.
    pub example_count: u64,
    /// The sum of the losses of these examples.
    pub loss_sum: f64,
    /// The number of correct predictions.
    pub correct_count: u64,
    /// The number of local steps.
    pub step_count: u64,
    /// The square of the update's L2 norm, if the task's rule compares sizes; otherwise 0.
    pub norm_square: f64,
    /// The largest magnitude of its values, if the task's rule compares sizes; otherwise 0.
    pub peak: f64,
}

/// An update that an aggregator has refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefusedUpdateRequest {
    /// The head of a request in which the client has sent a part of the update.
    pub head: AdmissionRequest,
    /// The reason.
    pub code: ErrorCode,
}

/// A question for the work of an aggregator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AggregatorWorkRequest {
    /// The rounds of which the aggregator has updates, at most 1,000.
    #[schema(max_items = 1_000)]
    pub rounds: Vec<RoundId>,
    /// The time to wait for work, in seconds. The coordinator limits it.
    #[serde(default)]
    pub wait_seconds: u32,
}

/// The work of an aggregator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AggregatorWorkView {
    /// The sums that closed rounds wait for.
    pub wanted: Vec<WantedSumView>,
    /// Those of the asked rounds that have ended. Delete their updates.
    pub ended: Vec<RoundId>,
}

/// A sum that a closed round waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WantedSumView {
    /// The round.
    pub round_id: RoundId,
    /// The task.
    pub task_id: TaskId,
    /// The updates to sum, by assignment.
    pub updates: Vec<WantedUpdateView>,
}

/// An update of a wanted sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WantedUpdateView {
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The bits of its factor as a 64-bit float.
    pub factor_bits: u64,
}
