use axum::{Extension, Json, body::Body, extract::State, http::Request, http::StatusCode};
use folkmoot_api::tasks::{CreateTaskRequest, TaskView};
use folkmoot_protocol::Problem;
use folkmoot_rounds::registry;

use super::view::view;
use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// Creates a task and its model version 0.
#[utoipa::path(
    post, path = "/v1/admin/tasks", tag = "tasks", security(("api_key" = ["operator"])),
    request_body = CreateTaskRequest,
    responses(
        (status = 201, body = TaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<TaskView>), Refused> {
    let request: CreateTaskRequest = read::json(&app, request).await?;
    let (coordinator, now) = (&app.coordinator, (app.clock)());
    let task = registry::create_task(coordinator, caller.organisation_id, request, now).await?;
    let (id, state) = (task.id, task.state.name());
    tracing::info!(task = %id, state, by = %caller.who, "task created");
    Ok((StatusCode::CREATED, Json(view(&coordinator.storage, task).await?)))
}
