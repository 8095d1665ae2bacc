use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_protocol::{ErrorCode, Problem, RoundId, Timestamp};
use folkmoot_storage::{AssignmentRepository, AssignmentStatus, LaneRecord, RoundRepository};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::view::{RoundView, kind_of};
use crate::{
    http::{
        App,
        admin::{access::Caller, disclosure::Disclosure, read, tasks},
    },
    refusal::Refusal,
};

/// Assignments that are shown, at most.
const LANES_MAX: u32 = 2_000;

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

/// Shows a round's assignments on the clock.
#[utoipa::path(
    get, path = "/v1/admin/rounds/{id}/assignments", tag = "rounds", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The round")),
    responses(
        (status = 200, body = RoundAssignmentsView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn list_assignments(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<RoundAssignmentsView>, Refusal> {
    let id: RoundId = read::id(&id, ErrorCode::RoundUnknown)?;
    let storage = &app.coordinator.storage;
    let found = storage.round(caller.organisation_id, id).await?;
    let record =
        found.ok_or_else(|| Refusal::new(ErrorCode::RoundUnknown, format!("there is no round {id}")))?;
    let task = tasks::find(&app, &caller, &record.round.task_id.to_string()).await?;
    let disclosure = Disclosure::of_task(&app, &task).await?;
    if task.description.hides_counts() {
        let (round, withheld) = (RoundView::of(&record, &task.description), disclosure.withheld());
        return Ok(Json(RoundAssignmentsView { round, lanes: Vec::new(), left_out: None, withheld }));
    }
    let lanes = storage.database()?.lanes(id, LANES_MAX).await?;
    let counts = storage.report_counts(id).await?;
    let all = counts.accepted + counts.outstanding + counts.dropped;
    Ok(Json(RoundAssignmentsView {
        round: RoundView::of(&record, &task.description),
        left_out: Some(all.saturating_sub(lanes.len() as u64)),
        lanes: lanes.iter().map(|lane| shown(lane, disclosure)).collect(),
        withheld: disclosure.withheld(),
    }))
}

fn shown(lane: &LaneRecord, disclosure: Disclosure) -> LaneView {
    let (status, kind, bytes) = match &lane.status {
        AssignmentStatus::Outstanding => ("outstanding", None, None),
        AssignmentStatus::Accepted { bytes, .. } => ("accepted", None, Some(*bytes)),
        AssignmentStatus::Dropped { reason } => ("dropped", Some(kind_of(reason)), None),
    };
    let report = lane.report.and_then(|report| disclosure.of_clients(report));
    let (kind, reason) = kind.map_or((None, None), |(kind, reason)| (Some(kind.to_owned()), reason));
    LaneView {
        assigned_at: lane.created_at,
        closed_at: lane.closed_at.and_then(|at| disclosure.of_clients(at)),
        deadline: lane.deadline,
        status: status.into(),
        kind,
        reason,
        upload_bytes: bytes.and_then(|bytes| disclosure.of_updates(bytes)),
        training_ms: report.map(|report| report.training_milliseconds),
        download_bytes: report.map(|report| report.download_bytes),
    }
}
