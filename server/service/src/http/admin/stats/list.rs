use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::stats::RoundStatsView;
use folkmoot_protocol::Problem;
use folkmoot_storage::{AssignmentRepository, RoundRepository};

use crate::http::{
    App,
    admin::{
        access::Caller, called, disclosure::Disclosure, read, rounds::list::RoundPage,
        stats::view::stats_view,
    },
    problem::Refused,
};

/// Lists the traffic of a task's rounds in bytes, newest round first.
///
/// For private tasks, the traffic is null, because the length of a compressed update depends on its values.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/stats", tag = "rounds", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id"), RoundPage),
    responses(
        (status = 200, body = [RoundStatsView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_stats(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    page: Result<Query<RoundPage>, QueryRejection>,
) -> Result<Json<Vec<RoundStatsView>>, Refused> {
    let page = read::query(page)?;
    let task = called::task(&app, &caller, &id).await?;
    let disclosure = Disclosure::of_task(&app, &task).await?;
    let storage = &app.coordinator.storage;
    let mut stats = Vec::new();
    for round in storage.rounds(task.id, read::limit(page.limit)?, page.before).await? {
        let traffic = disclosure.of_updates(storage.traffic(round.round.id).await?);
        stats.push(stats_view(&round, &task.schema, traffic.as_deref()));
    }
    Ok(Json(stats))
}
