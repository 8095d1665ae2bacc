use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::tasks::{RollBackRequest, TaskView};
use folkmoot_coordinator::task::TaskState;
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::{drivers::release_again, refusal::Refusal, registry::check_kept, signals::Signal};
use folkmoot_storage::{ModelVersionRecord, ModelVersionRepository, RoundRepository};

use super::view::view;
use crate::http::{
    App,
    admin::{access::Caller, called, read},
    problem::Refused,
};

/// Creates a new version with the weights of an earlier one. Nothing is deleted; the server optimizer's state is
/// reset.
///
/// The task must be paused, because an open round starts from another version. A task with correlated noise cannot be
/// rolled back, because the noise of its later versions cancels noise of its earlier versions.
#[utoipa::path(
    post, path = "/v1/admin/tasks/{id}/roll-back", tag = "tasks", security(("api_key" = ["operator"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id")), request_body = RollBackRequest,
    responses(
        (status = 200, body = TaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn roll_back_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<Json<TaskView>, Refused> {
    let RollBackRequest { version } = read::json(&app, request).await?;
    let task = called::task(&app, &caller, &id).await?;
    let storage = &app.coordinator.storage;
    let refuse = |detail: String| Err(Refusal::new(ErrorCode::TaskStateConflict, detail).into());
    if !matches!(task.state, TaskState::Paused { .. }) {
        let state = task.state.name();
        return refuse(format!(
            "the task is {state}, but only a paused task can be rolled back; pause it, roll back, then resume it"
        ));
    }
    if storage.unfinished_round(task.id).await?.is_some() {
        return refuse("the task's last round is still ending; repeat the request".into());
    }
    let newest = storage.latest_model_version(task.id).await?;
    let unknown = || {
        let detail = format!("task {} has no model version {version}", task.id);
        Refusal::new(ErrorCode::ModelVersionUnknown, detail)
    };
    let newest: ModelVersionRecord = newest.ok_or_else(unknown)?;
    if newest.making.noise_state.is_some() {
        return refuse(
            "the task's noise is correlated between versions, so the task cannot return to an earlier version".into(),
        );
    }
    if newest.number == version {
        return refuse(format!("version {version} is already the newest; choose an earlier version"));
    }
    let found = storage.model_version(task.id, version).await?.ok_or_else(unknown)?;
    check_kept(&found)?;
    let released = release_again(&app.coordinator, &task, found, (app.clock)()).await?;
    tracing::info!(task = %task.id, version = released, rolled_back_to = version, by = %caller.who, "rolled back");
    app.coordinator.signal(Signal::Fact);
    Ok(Json(view(storage, task).await?))
}
