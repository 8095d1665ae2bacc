use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::organisations::ClosedOrganisationView;
use folkmoot_coordinator::task::{TaskFilter, TaskInput};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::TaskRepository;

use crate::http::{
    App,
    admin::{
        access::Caller,
        called,
        read::{self, PAGE_ROWS_MAX},
        tasks::change::change,
    },
    problem::Refused,
};

/// Closes an organisation forever: revokes its API keys, tokens and clients, and cancels its tasks. Its data stays. If a
/// request breaks off, repeat it.
#[utoipa::path(
    post, path = "/v1/admin/organisations/{id}/close", tag = "organisations", security(("api_key" = ["system"])),
    params(("id" = String, Path, description = "The organisation's name, its id, or the beginning of its id")),
    responses(
        (status = 200, body = ClosedOrganisationView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn close_organisation(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(text): Path<String>,
) -> Result<Json<ClosedOrganisationView>, Refused> {
    let id = called::organisation_id(&app, &text).await?;
    if id == caller.organisation_id {
        let detail = "this organisation holds the keys of system administrators and cannot be closed";
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    let storage = &app.coordinator.storage;
    let closed = storage.database()?.close_organisation(id, (app.clock)()).await;
    let closed = closed.map_err(read::missing("organisation", &text))?;
    let tasks_cancelled = cancel_tasks(&app, &Caller { organisation_id: id, ..caller.clone() }).await?;
    tracing::info!(organisation = %id, tasks_cancelled, by = %caller.who, "organisation closed");
    Ok(Json(ClosedOrganisationView {
        id,
        api_keys_revoked: closed.api_keys,
        tokens_revoked: closed.tokens,
        clients_revoked: closed.clients,
        tasks_cancelled,
    }))
}

/// Cancels the tasks of the caller's organisation that have not ended, and returns their number.
async fn cancel_tasks(app: &App, caller: &Caller) -> Result<u64, Refusal> {
    let (mut cancelled, mut before) = (0, None);
    loop {
        let (everything, organisation) = (TaskFilter::default(), caller.organisation_id);
        let tasks = app.coordinator.storage.tasks(organisation, &everything, PAGE_ROWS_MAX, before).await?;
        let Some(last) = tasks.last() else { return Ok(cancelled) };
        before = Some(last.id);
        for task in tasks {
            if task.state.step(TaskInput::Cancel).is_ok_and(|next| next != task.state) {
                change(app, caller, &task.id.to_string(), TaskInput::Cancel).await?;
                cancelled += 1;
            }
        }
    }
}
