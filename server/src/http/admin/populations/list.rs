use axum::{Extension, Json, extract::State};
use folkmoot_protocol::{PopulationName, Problem, Timestamp};
use folkmoot_storage::{ClientRepository, PopulationRepository};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{App, admin::access::Caller},
    refusal::Refusal,
};

/// All clients that are enrolled for one app's data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PopulationView {
    /// Its name.
    pub name: PopulationName,
    /// How many clients are enrolled; revoked ones do not count.
    pub client_count: u64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Lists populations, by name.
#[utoipa::path(
    get, path = "/v1/admin/populations", tag = "populations", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, body = [PopulationView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn list_populations(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<PopulationView>>, Refusal> {
    let storage = &app.coordinator.storage;
    let mut views = Vec::new();
    for record in storage.populations(caller.organisation_id).await? {
        let client_count = storage.client_count(caller.organisation_id, &record.name).await?;
        views.push(PopulationView { name: record.name, client_count, created_at: record.created_at });
    }
    Ok(Json(views))
}
