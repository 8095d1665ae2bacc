//! Rounds: as funnels, never as one client's update.

use folkmoot_coordinator::round::AbandonReason;
use folkmoot_protocol::{RoundId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A round's assignments on the clock. It does not say whose they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoundAssignmentsView {
    /// The round.
    pub round: RoundView,
    /// Its assignments in the order in which they were given, at most 2,000; none where the task's `privacy` claims sampling.
    pub lanes: Vec<LaneView>,
    /// How many more there are; hidden likewise.
    pub left_out: Option<u64>,
    /// Why their times and bytes are null, where a task with privacy runs or has run in the population.
    pub withheld: Option<String>,
}

/// One assignment on the clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaneView {
    /// When it was given.
    pub assigned_at: Timestamp,
    /// When its update was accepted, or it was dropped. Null where a task with privacy runs or has run.
    pub closed_at: Option<Timestamp>,
    /// Until when its update may come.
    pub deadline: Timestamp,
    /// `outstanding`, `accepted` or `dropped`.
    pub status: String,
    /// `expired`, `left_behind`, `aborted` or `refused`.
    pub kind: Option<String>,
    /// The client's reason, or the code of the refusal.
    pub reason: Option<String>,
    /// The update's bytes; none of a task with `privacy`, where they depend on the values.
    pub upload_bytes: Option<u64>,
    /// How long the client says that it trained, in milliseconds. Null where a task with privacy runs or has run.
    pub training_ms: Option<u64>,
    /// The bytes that the client says it fetched. Null where a task with privacy runs or has run.
    pub download_bytes: Option<u64>,
}

/// A round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoundView {
    /// Its id.
    pub id: RoundId,
    /// Its task.
    pub task_id: TaskId,
    /// Its number in the task, from 1, abandoned rounds included.
    pub number: u64,
    /// `training` or `evaluation`.
    pub purpose: String,
    /// The model version from which its clients start, or which they evaluate.
    pub base_version: u64,
    /// `selecting`, `reporting`, `collecting`, `aggregating`, `committed`, `evaluated` or `abandoned`.
    pub phase: String,
    /// Since when it is in this phase.
    pub phase_since: Timestamp,
    /// While it reports: when its stragglers were asked for what they have, if they were.
    pub asked_at: Option<Timestamp>,
    /// How many clients were drawn; hidden where the task's `privacy` claims sampling.
    pub cohort: Option<u64>,
    /// How many updates are combined; hidden likewise.
    pub accepted: Option<u64>,
    /// The version that came of it.
    pub version: Option<u64>,
    /// Why it was abandoned.
    #[schema(value_type = Option<String>)]
    pub reason: Option<AbandonReason>,
    /// When it was opened.
    pub created_at: Timestamp,
}

/// A round with what became of its assignments; without that where the task's `privacy` claims sampling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoundFunnelView {
    /// The round.
    pub round: RoundView,
    /// How many clients were drawn.
    pub cohort: Option<u64>,
    /// How many updates count.
    pub accepted: Option<u64>,
    /// How many may still come.
    pub outstanding: Option<u64>,
    /// How many will not, by reason; none that is told where counts are hidden.
    pub dropped: Vec<DroppedView>,
}

/// Assignments that were dropped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DroppedView {
    /// `expired`, `left_behind` (it fell too far behind), `aborted` (the client gave up) or `refused` (the update was).
    pub kind: String,
    /// The client's reason, or the code of the refusal.
    pub reason: Option<String>,
    /// How many.
    pub count: u64,
}
