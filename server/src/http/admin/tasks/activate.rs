use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_coordinator::task::{TaskInput, TaskState};
use folkmoot_protocol::Problem;

use super::{change::change, find, view::TaskView};
use crate::{
    http::{App, admin::access::Caller},
    privacy,
    refusal::Refusal,
};

/// Starts a task that is a draft.
#[utoipa::path(
    post, path = "/v1/admin/tasks/{id}/activate", tag = "tasks", security(("api_key" = ["operator"])),
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, body = TaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn activate_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<TaskView>, Refusal> {
    let task = find(&app, &caller, &id).await?;
    if task.state == TaskState::Draft {
        // What holds in its population may be other than when it was made.
        let (coordinator, own) = (&app.coordinator, Some(task.id));
        let fault = privacy::budget_fault(coordinator, task.organisation_id, &task.description, own).await?;
        if let Some(fault) = fault {
            return Err(Refusal::faults(&[fault]));
        }
    }
    change(&app, &caller, &id, TaskInput::Activate).await.map(Json)
}
