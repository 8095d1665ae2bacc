use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::populations::{PopulationView, SetDownloadsRequest};
use folkmoot_protocol::{ErrorCode, PopulationName, Problem};
use folkmoot_storage::{ClientRepository, PopulationRecord, PopulationRepository};

use crate::http::{
    App,
    admin::{access::Caller, populations::view::population_view, read},
    problem::Refused,
};

/// Sets whether viewers and privacy officers may download the models of a population's tasks. Creates the population if it
/// does not exist.
#[utoipa::path(
    post, path = "/v1/admin/populations/{population}/downloads", tag = "populations",
    security(("api_key" = ["admin"])), request_body = SetDownloadsRequest,
    params(("population" = String, Path, description = "The population's name")),
    responses(
        (status = 200, body = PopulationView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn set_viewers_download(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
    request: Request<Body>,
) -> Result<Json<PopulationView>, Refused> {
    let population: PopulationName = read::id(&population, ErrorCode::MalformedRequest)?;
    let SetDownloadsRequest { viewers_download } = read::json(&app, request).await?;
    let (storage, organisation_id) = (&app.coordinator.storage, caller.organisation_id);
    let record = storage.ensure_population(organisation_id, &population, (app.clock)()).await?;
    storage.database()?.set_viewers_download(organisation_id, &population, viewers_download).await?;
    tracing::info!(%population, viewers_download, by = %caller.who, "downloads of a population's models set");
    let client_count = storage.client_count(organisation_id, &population).await?;
    Ok(Json(population_view(PopulationRecord { viewers_download, ..record }, client_count)))
}
