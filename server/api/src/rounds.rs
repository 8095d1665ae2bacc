//! Rounds and the outcomes of their assignments. No type in this module contains a client's update.

pub mod aggregators;

use folkmoot_coordinator::round::AbandonReason;
use folkmoot_protocol::{ClientId, RoundId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The timeline of a round's assignments, without the ids of the clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundAssignmentsView {
    /// The round.
    pub round: RoundView,
    /// The first 2,000 assignments of the round, in the order of their creation. Empty if the task claims privacy
    /// amplification by sampling.
    pub lanes: Vec<LaneView>,
    /// The number of assignments that `lanes` omits. Null if the task claims privacy amplification by sampling.
    pub left_out: Option<u64>,
    /// The scores of the updates that the round's version combines. Null if the round has released no version, if the task does
    /// not score updates, and in a population where a private task runs or has run.
    pub scores: Option<CommitScoresView>,
    /// The reason why times, byte counts and scores are null. Null if no private task runs or has run in the population.
    pub withheld: Option<String>,
}

/// The scores of the updates of a version, which say how unusual each one is. A score is evidence, not a proof: rare data makes honest updates unusual, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CommitScoresView {
    /// The number of updates that were compared.
    pub updates: u64,
    /// The number of updates with a score above 3.5.
    pub unusual: u64,
    /// The 50 updates with the largest scores, the largest first.
    pub most_unusual: Vec<UpdateScoreView>,
}

/// The score of one update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdateScoreView {
    /// The client that sent the update. Null unless you are an admin.
    pub client_id: Option<ClientId>,
    /// The L2 norm of the update, in multiples of the median norm.
    pub norm_ratio: f64,
    /// The cosine of the angle between the update and the aggregate, -1 to 1.
    pub cosine: f64,
    /// The modified z-score of the length or of the direction, whichever is larger.
    pub score: f64,
    /// True if the score is above 3.5.
    pub is_unusual: bool,
    /// A sentence that explains the score, for example "4.1 times the median norm".
    pub explanation: String,
}

/// The timeline of one assignment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaneView {
    /// When the coordinator created the assignment.
    pub assigned_at: Timestamp,
    /// When the update was accepted or the assignment was dropped. Null for an outstanding assignment, and in a
    /// population where a private task runs or has run.
    pub closed_at: Option<Timestamp>,
    /// The deadline for the update.
    pub deadline: Timestamp,
    /// `outstanding`, `accepted` or `dropped`.
    pub status: String,
    /// The reason for a dropped assignment: `expired`, `left_behind`, `aborted` or `refused`.
    pub kind: Option<String>,
    /// The client's reason for aborting, or the error code of the refusal.
    pub reason: Option<String>,
    /// The size of the update in bytes. Null for a task with `privacy`, because the size depends on the values.
    pub upload_bytes: Option<u64>,
    /// The training time in milliseconds that the client reported. Null if a private task runs or has run in the
    /// population.
    pub training_ms: Option<u64>,
    /// The number of downloaded bytes that the client reported. Null if a private task runs or has run in the
    /// population.
    pub download_bytes: Option<u64>,
}

/// A round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoundView {
    /// The round's id.
    pub id: RoundId,
    /// The task that the round belongs to.
    pub task_id: TaskId,
    /// The number of the round in its task, from 1. Abandoned rounds have numbers, too.
    pub number: u64,
    /// `training` or `evaluation`.
    pub purpose: String,
    /// The model version that clients train from or evaluate.
    pub base_version: u64,
    /// `selecting`, `reporting`, `collecting`, `aggregating`, `committed`, `evaluated` or `abandoned`. With secure aggregation
    /// also `advertising_keys`, `sharing_keys` and `unmasking`.
    pub phase: String,
    /// When the round entered this phase.
    pub phase_since: Timestamp,
    /// When the coordinator asked stragglers to send their current updates. Null if it did not ask, or if the round is
    /// no longer reporting.
    pub asked_at: Option<Timestamp>,
    /// The number of clients that were selected. Null if the task claims privacy amplification by sampling.
    pub cohort: Option<u64>,
    /// The number of updates that the round combined. Null if the task claims privacy amplification by sampling.
    pub accepted: Option<u64>,
    /// The number of the version that the round committed; null if it committed none.
    pub version: Option<u64>,
    /// The reason why the round was abandoned; null if it was not.
    #[schema(value_type = Option<String>)]
    pub reason: Option<AbandonReason>,
    /// When the round was opened.
    pub created_at: Timestamp,
}

/// The event that ends the current phase of an open round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AwaitedView {
    /// The number of waiting clients (phase `selecting`) or of accepted updates (other phases) that ends the phase at
    /// once. Null if no number does, or if the task claims privacy amplification by sampling.
    pub needed: Option<u64>,
    /// The deadline of the phase; null if it has none.
    pub until: Option<Timestamp>,
    /// The number of clients or updates that is enough from the deadline on. With fewer, a round that draws a cohort is
    /// abandoned, and a round in phase `collecting` continues. Null without a deadline, or if the task claims privacy
    /// amplification by sampling.
    pub needed_then: Option<u64>,
}

/// A round with the outcomes of its assignments. All counts are null if the task claims privacy amplification by
/// sampling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoundFunnelView {
    /// The round.
    pub round: RoundView,
    /// The number of clients that were selected.
    pub cohort: Option<u64>,
    /// The number of accepted updates.
    pub accepted: Option<u64>,
    /// The number of assignments whose update may still arrive.
    pub outstanding: Option<u64>,
    /// The number of dropped assignments for each reason. Empty if the counts are null.
    pub dropped: Vec<DroppedView>,
    /// The event that the round waits for. Null if the round is not open, or if the clocks of single clients decide.
    pub awaited: Option<AwaitedView>,
}

/// The number of assignments that were dropped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DroppedView {
    /// `expired` (the deadline passed), `left_behind` (the client fell too far behind the others), `aborted` (the
    /// client gave up) or `refused` (the coordinator rejected the update).
    pub kind: String,
    /// The client's reason for aborting, or the error code of the refusal.
    pub reason: Option<String>,
    /// The number of dropped assignments.
    pub count: u64,
}
