use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::statement::Statement;
use folkmoot_protocol::Problem;
use folkmoot_rounds::{
    privacy::{Budget, statement},
    refusal::Refusal,
};
use folkmoot_storage::ClientRepository;

use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// Returns a task's privacy statement: its promise to clients, and the budget spent so far.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/privacy", tag = "privacy", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's id")),
    responses(
        (status = 200, body = Statement),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_statement(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Statement>, Refused> {
    let task = read::task(&app, &caller, &id).await?;
    let budget = Budget::of(&app.coordinator, &task).await?;
    let population = &task.description.population;
    let clients = app.coordinator.storage.client_count(caller.organisation_id, population).await?;
    // The accountants may take a while, so they run on a blocking thread.
    let made = tokio::task::spawn_blocking(move || statement(&task, budget.as_ref(), clients)).await;
    Ok(Json(made.map_err(|error| Refusal::internal(&error))?))
}
