use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
};
use folkmoot_protocol::{Problem, TaskId};
use folkmoot_storage::TaskRepository;
use serde::Deserialize;

use super::view::{TaskSummary, summary};
use crate::{
    http::{
        App,
        admin::{access::Caller, read},
    },
    refusal::Refusal,
};

/// Which tasks are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskPage {
    /// How many, at most 100; 20 if it is not said.
    limit: Option<u32>,
    /// Those before this one: the last id of the page before.
    before: Option<TaskId>,
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
) -> Result<Json<Vec<TaskSummary>>, Refusal> {
    let page = read::query(page)?;
    let storage = &app.coordinator.storage;
    let tasks = storage.tasks(caller.organisation_id, read::limit(page.limit)?, page.before).await?;
    let mut summaries = Vec::with_capacity(tasks.len());
    for task in tasks {
        summaries.push(summary(storage, task).await?);
    }
    Ok(Json(summaries))
}
