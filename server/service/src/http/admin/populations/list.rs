use axum::{Extension, Json, extract::State};
use folkmoot_api::populations::PopulationView;
use folkmoot_protocol::Problem;
use folkmoot_storage::{ClientRepository, PopulationRepository};

use crate::http::{
    App,
    admin::{access::Caller, populations::view::population_view},
    problem::Refused,
};

/// Lists populations by name.
#[utoipa::path(
    get, path = "/v1/admin/populations", tag = "populations", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, body = [PopulationView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_populations(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<PopulationView>>, Refused> {
    let storage = &app.coordinator.storage;
    let mut views = Vec::new();
    for record in storage.populations(caller.organisation_id).await? {
        let client_count = storage.client_count(caller.organisation_id, &record.name).await?;
        views.push(population_view(record, client_count));
    }
    Ok(Json(views))
}
