use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
};
use folkmoot_api::tasks::TaskSummary;
use folkmoot_coordinator::task::{TaskFilter, TaskState};
use folkmoot_protocol::{DisplayName, ErrorCode, PopulationName, Problem, TaskId};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::TaskRepository;
use serde::Deserialize;

use super::view::summary;
use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// The requested page of tasks, and its filters.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskPage {
    /// The maximum number of tasks: 1 to 100. Default: 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Returns tasks created before this one. Use the id of the previous page's last task.
    before: Option<TaskId>,
    /// Returns only tasks in this state: `draft`, `active`, `paused`, `completed` or `cancelled`.
    state: Option<String>,
    /// Returns only tasks of this population.
    #[param(value_type = Option<PopulationName>)]
    population: Option<PopulationName>,
    /// Returns only tasks whose name contains this text, ignoring case.
    name: Option<String>,
    /// Returns only tasks that have this name, or an id that begins with this text. Ignores case.
    called: Option<String>,
}

/// Lists tasks, newest first.
#[utoipa::path(
    get, path = "/v1/admin/tasks", tag = "tasks", security(("api_key" = ["viewer"])), params(TaskPage),
    responses(
        (status = 200, body = [TaskSummary]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
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
    // No name has such a text, and some databases reject a search for it.
    for (parameter, text) in [("name", &page.name), ("called", &page.called)] {
        let asked = text.as_deref().filter(|text| !text.is_empty());
        if let Some(fault) = asked.and_then(|text| DisplayName::check(text).err()) {
            return Err(Refusal::new(ErrorCode::MalformedRequest, format!("{parameter}: {fault}")).into());
        }
    }
    let TaskPage { before, state, population, name, called, .. } = page;
    let filter = TaskFilter { state, population, name, called };
    let tasks = storage.tasks(caller.organisation_id, &filter, limit, before).await?;
    let mut summaries = Vec::with_capacity(tasks.len());
    for task in tasks {
        summaries.push(summary(storage, task).await?);
    }
    Ok(Json(summaries))
}
