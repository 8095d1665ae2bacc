use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::rounds::aggregators::{HeldAssignmentView, HeldTaskView};
use folkmoot_protocol::{AssignmentId, ErrorCode, Problem, TaskId};
use folkmoot_rounds::{
    device::{self, OfAssignment},
    refusal::Refusal,
};
use folkmoot_storage::TaskRepository;

use super::aggregator;
use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// Returns whether an edge aggregator keeps the update of an assignment.
#[utoipa::path(
    get, path = "/v1/admin/aggregator/assignments/{id}", tag = "aggregators", security(("api_key" = ["aggregator"])),
    params(("id" = String, Path, description = "The assignment's id")),
    responses(
        (status = 200, body = HeldAssignmentView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_held_assignment(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<HeldAssignmentView>, Refused> {
    let id: AssignmentId = read::id(&id, ErrorCode::AssignmentUnknown)?;
    let OfAssignment { assignment, is_held, .. } =
        device::of_assignment(&app.coordinator, &aggregator(caller)?, id).await?;
    Ok(Json(HeldAssignmentView {
        is_held,
        task_id: assignment.task_id,
        round_id: assignment.round_id,
        base_version: assignment.base_version,
    }))
}

/// Returns a task as an edge aggregator needs it.
#[utoipa::path(
    get, path = "/v1/admin/aggregator/tasks/{id}", tag = "aggregators", security(("api_key" = ["aggregator"])),
    params(("id" = String, Path, description = "The task's id")),
    responses(
        (status = 200, body = HeldTaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_held_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<HeldTaskView>, Refused> {
    let id: TaskId = read::id(&id, ErrorCode::TaskUnknown)?;
    let task = app.coordinator.storage.task(caller.organisation_id, id).await?;
    let unknown = || Refusal::new(ErrorCode::TaskUnknown, format!("this organisation has no task {id}"));
    let task = task.ok_or_else(unknown)?;
    Ok(Json(HeldTaskView { description: task.description, schema: task.schema }))
}
