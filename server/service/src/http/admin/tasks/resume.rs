use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::tasks::TaskView;
use folkmoot_coordinator::task::TaskInput;
use folkmoot_protocol::Problem;

use super::change::change;
use crate::http::{App, admin::access::Caller, problem::Refused};

/// Resumes a paused task, if the population's privacy budget still allows it.
#[utoipa::path(
    post, path = "/v1/admin/tasks/{id}/resume", tag = "tasks", security(("api_key" = ["operator"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id")),
    responses(
        (status = 200, body = TaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn resume_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<TaskView>, Refused> {
    Ok(Json(change(&app, &caller, &id, TaskInput::Resume).await?))
}
