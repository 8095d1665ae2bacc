use axum::{Json, extract::State};
use folkmoot_api::organisations::OrganisationView;
use folkmoot_protocol::Problem;

use super::organisation_view;
use crate::http::{App, problem::Refused};

/// Lists all organisations, oldest first, also closed ones.
#[utoipa::path(
    get, path = "/v1/admin/organisations", tag = "organisations", security(("api_key" = ["system"])),
    responses(
        (status = 200, body = [OrganisationView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_organisations(State(app): State<App>) -> Result<Json<Vec<OrganisationView>>, Refused> {
    let organisations = app.coordinator.storage.database()?.organisations().await?;
    Ok(Json(organisations.into_iter().map(organisation_view).collect()))
}
