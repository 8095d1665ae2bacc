use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::rounds::RoundFunnelView;
use folkmoot_coordinator::round::Phase;
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::{drivers::awaited, refusal::Refusal};
use folkmoot_storage::{AssignmentRepository, RoundRepository};

use super::view::funnel;
use crate::http::{
    App,
    admin::{access::Caller, called},
    problem::Refused,
};

/// Returns a round, with counts of its assignments by outcome.
#[utoipa::path(
    get, path = "/v1/admin/rounds/{id}", tag = "rounds", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The round's id, or the beginning of it")),
    responses(
        (status = 200, body = RoundFunnelView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_round(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<RoundFunnelView>, Refused> {
    let id = called::round_id(&app, &caller, &id).await?;
    let storage = &app.coordinator.storage;
    let found = storage.round(caller.organisation_id, id).await?;
    let record =
        found.ok_or_else(|| Refusal::new(ErrorCode::RoundUnknown, format!("there is no round {id}")))?;
    let task = called::task(&app, &caller, &record.round.task_id.to_string()).await?;
    let awaited = match record.round.phase {
        Phase::Selecting { .. } | Phase::Reporting { .. } => {
            awaited(storage, &task, &record, storage.report_counts(id).await?).await?
        }
        Phase::Collecting { .. } => {
            awaited(storage, &task, &record, storage.flow_counts(task.id, id).await?).await?
        }
        _ => None,
    };
    Ok(Json(funnel(&record, &task.description, &storage.assignments(id).await?, awaited)))
}
