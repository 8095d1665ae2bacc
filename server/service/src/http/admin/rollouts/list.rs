use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::populations::RolloutView;
use folkmoot_protocol::{Count, ErrorCode, PopulationName, Problem};
use serde::Deserialize;

use super::view;
use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// Selects a page of rollouts.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RolloutPage {
    /// The maximum number of rollouts: 1 to 100. Default: 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Returns rollouts before this number. Use the number of the previous page's last rollout.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[param(maximum = 9007199254740992_u64)]
    before: Option<u64>,
}

/// Lists a population's rollouts, newest first.
#[utoipa::path(
    get, path = "/v1/admin/populations/{population}/rollouts", tag = "populations",
    security(("api_key" = ["viewer"])),
    params(("population" = String, Path, description = "The population's name"), RolloutPage),
    responses(
        (status = 200, body = [RolloutView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_rollouts(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
    page: Result<Query<RolloutPage>, QueryRejection>,
) -> Result<Json<Vec<RolloutView>>, Refused> {
    let population: PopulationName = read::id(&population, ErrorCode::MalformedRequest)?;
    let RolloutPage { limit, before } = read::query(page)?;
    let (limit, database) = (read::limit(limit)?, app.coordinator.storage.database()?);
    let rollouts = database.rollouts(caller.organisation_id, &population, limit, before).await?;
    Ok(Json(rollouts.into_iter().map(view).collect()))
}
