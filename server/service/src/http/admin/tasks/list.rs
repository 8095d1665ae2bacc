use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
};
use folkmoot_api::tasks::TaskSummary;
use folkmoot_coordinator::task::{TaskFilter, TaskState};
use folkmoot_protocol::{ErrorCode, PopulationName, Problem, TaskId, check_characters};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::TaskRepository;
use serde::Deserialize;

use super::view::summary;
use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// Which tasks are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskPage {
    /// How many, at most 100; 20 if it is not said.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Those before this one: the last id of the page before.
    before: Option<TaskId>,
    /// Those in this state: `draft`, `active`, `paused`, `completed` or `cancelled`.
    state: Option<String>,
    /// Those of this population.
    #[param(value_type = Option<PopulationName>)]
    population: Option<PopulationName>,
    /// Those that have this in their name; upper and lower case are the same.
    name: Option<String>,
}

/// Lists tasks, newest first.
#[utoipa::path(
    get, path = "/v1/admin/tasks", tag = "tasks", security(("api_key" = ["viewer"])), params(TaskPage),
    responses(
        (status = 200, body = [TaskSummary]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn list_tasks(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    page: Result<Query<TaskPage>, QueryRejection>,
) -> Result<Json<Vec<TaskSummary>>, Refused> {
    let page = read::query(page)?;
    let storage = &app.coordinator.storage;
    let limit = read::limit(page.limit)?;
    if let Some(state) = page.state.as_deref().filter(|state| !TaskState::NAMES.contains(state)) {
        let detail = format!("state is `{state}`; it must be one of {}", TaskState::NAMES.join(", "));
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    // No name has such a character, and not every database takes them.
    if page.name.as_deref().is_some_and(|name| check_characters(name).is_err()) {
        return Err(
            Refusal::new(ErrorCode::MalformedRequest, "name has a control character; leave it out").into()
        );
    }
    let filter = TaskFilter { state: page.state, population: page.population, name: page.name };
    let tasks = storage.tasks(caller.organisation_id, &filter, limit, page.before).await?;
    let mut summaries = Vec::with_capacity(tasks.len());
    for task in tasks {
        summaries.push(summary(storage, task).await?);
    }
    Ok(Json(summaries))
}
