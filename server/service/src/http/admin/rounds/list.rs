use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::rounds::RoundView;
use folkmoot_protocol::{Count, Problem};
use folkmoot_storage::RoundRepository;
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, called, read, rounds::view::round_view},
    problem::Refused,
};

/// The requested page of rounds.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RoundPage {
    /// The maximum number of rounds: 1 to 100. Default: 20.
    #[param(minimum = 1, maximum = 100)]
    pub(in crate::http::admin) limit: Option<u32>,
    /// Returns rounds before this number. Use the number of the previous page's last round.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[param(maximum = 9007199254740992_u64)]
    pub(in crate::http::admin) before: Option<u64>,
}

/// Lists a task's rounds, newest first.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/rounds", tag = "rounds", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id"), RoundPage),
    responses(
        (status = 200, body = [RoundView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_rounds(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    page: Result<Query<RoundPage>, QueryRejection>,
) -> Result<Json<Vec<RoundView>>, Refused> {
    let page = read::query(page)?;
    let task = called::task(&app, &caller, &id).await?;
    let rounds = app.coordinator.storage.rounds(task.id, read::limit(page.limit)?, page.before).await?;
    Ok(Json(rounds.iter().map(|round| round_view(round, &task.description)).collect()))
}
