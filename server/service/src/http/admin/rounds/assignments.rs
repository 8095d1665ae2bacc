use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::rounds::{LaneView, RoundAssignmentsView};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{AssignmentRepository, AssignmentStatus, LaneRecord, RoundRepository};

use super::{scores::scores, view::kind_of};
use crate::http::{
    App,
    admin::{access::Caller, called, disclosure::Disclosure, rounds::view::round_view},
    problem::Refused,
};

/// The maximum number of assignments in a response.
const LANES_MAX: u32 = 2_000;

/// Returns a round's assignments with their times.
#[utoipa::path(
    get, path = "/v1/admin/rounds/{id}/assignments", tag = "rounds", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The round's id, or the beginning of it")),
    responses(
        (status = 200, body = RoundAssignmentsView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_assignments(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<RoundAssignmentsView>, Refused> {
    let id = called::round_id(&app, &caller, &id).await?;
    let storage = &app.coordinator.storage;
    let found = storage.round(caller.organisation_id, id).await?;
    let record =
        found.ok_or_else(|| Refusal::new(ErrorCode::RoundUnknown, format!("there is no round {id}")))?;
    let task = called::task(&app, &caller, &record.round.task_id.to_string()).await?;
    let disclosure = Disclosure::of_task(&app, &task).await?;
    if task.description.hides_counts() {
        let (round, withheld) = (round_view(&record, &task.description), disclosure.withheld());
        return Ok(Json(RoundAssignmentsView {
            round,
            lanes: Vec::new(),
            left_out: None,
            scores: None,
            withheld,
        }));
    }
    let lanes = storage.database()?.lanes(id, LANES_MAX).await?;
    let counts = storage.report_counts(id).await?;
    let all = counts.accepted + counts.outstanding + counts.dropped;
    Ok(Json(RoundAssignmentsView {
        round: round_view(&record, &task.description),
        left_out: Some(all.saturating_sub(lanes.len() as u64)),
        lanes: lanes.iter().map(|lane| shown(lane, disclosure)).collect(),
        scores: match disclosure.of_clients(()) {
            Some(()) => scores(&app, &caller, &record).await?,
            None => None,
        },
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
