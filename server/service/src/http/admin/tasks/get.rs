use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::tasks::TaskView;
use folkmoot_protocol::Problem;

use super::view::view;
use crate::http::{
    App,
    admin::{access::Caller, called},
    problem::Refused,
};

/// Returns a task and its progress.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}", tag = "tasks", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id")),
    responses(
        (status = 200, body = TaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<TaskView>, Refused> {
    let task = called::task(&app, &caller, &id).await?;
    Ok(Json(view(&app.coordinator.storage, task).await?))
}
