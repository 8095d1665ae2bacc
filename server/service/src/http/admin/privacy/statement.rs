use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::statement::Statement;
use folkmoot_coordinator::ClientKind;
use folkmoot_protocol::Problem;
use folkmoot_rounds::{
    privacy::{Budget, statement},
    refusal::Refusal,
};
use folkmoot_storage::{ClientRepository, PopulationRepository};

use crate::http::{
    App,
    admin::{access::Caller, called},
    problem::Refused,
};

/// The sentence of statements in populations of sites.
const NAMED_SITES: &str = "The clients of this population are named sites. Operators see the name of each site, when it enrolled \
                           and when it last sent a request, the version of its SDK and the attributes that it reports. They see \
                           how often and why it sent no update only while no private task was activated in the population. Once a \
                           task has drawn its clients by chance and claimed amplification for it, they do not see when a site \
                           was last seen.";

/// Returns a task's privacy statement: its promise to clients, and the budget spent so far.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/privacy", tag = "privacy", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id")),
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
    let task = called::task(&app, &caller, &id).await?;
    let budget = Budget::of(&app.coordinator, &task).await?;
    let population = &task.description.population;
    let clients = app.coordinator.storage.client_count(caller.organisation_id, population).await?;
    let record = app.coordinator.storage.population(caller.organisation_id, population).await?;
    let are_sites = record.is_some_and(|record| record.clients == ClientKind::Sites);
    // The accountants may take a while, so they run on a blocking thread.
    let made = tokio::task::spawn_blocking(move || statement(&task, budget.as_ref(), clients)).await;
    let mut made = made.map_err(|error| Refusal::internal(&error))?;
    if are_sites {
        made.say("Named sites", NAMED_SITES);
    }
    Ok(Json(made))
}
