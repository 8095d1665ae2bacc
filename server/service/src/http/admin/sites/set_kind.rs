use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::{populations::PopulationView, sites::SetClientsRequest};
use folkmoot_protocol::{ErrorCode, PopulationName, Problem};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{ClientRepository, KindOutcome, PopulationRecord, PopulationRepository};

use crate::http::{
    App,
    admin::{access::Caller, populations::view::population_view, read},
    problem::Refused,
};

/// Sets whether a population's clients are an anonymous crowd or named sites. Creates the population if it does not
/// exist. Enrolling clients rely on the kind, so it is fixed once a client has enrolled.
#[utoipa::path(
    post, path = "/v1/admin/populations/{population}/clients", tag = "populations",
    security(("api_key" = ["admin"])), request_body = SetClientsRequest,
    params(("population" = String, Path, description = "The population's name")),
    responses(
        (status = 200, body = PopulationView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn set_client_kind(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
    request: Request<Body>,
) -> Result<Json<PopulationView>, Refused> {
    let population: PopulationName = read::id(&population, ErrorCode::MalformedRequest)?;
    let SetClientsRequest { clients } = read::json(&app, request).await?;
    let (storage, organisation_id) = (&app.coordinator.storage, caller.organisation_id);
    let record = storage.ensure_population(organisation_id, &population, (app.clock)()).await?;
    let outcome = storage.database()?.set_client_kind(organisation_id, &population, clients).await?;
    if outcome == KindOutcome::ClientsEnrolled {
        let detail = format!(
            "clients have enrolled in {population} as {}, so this cannot change; create another population",
            record.clients
        );
        return Err(Refusal::new(ErrorCode::PopulationStateConflict, detail).into());
    }
    tracing::info!(%population, kind = %clients, by = %caller.who, "kind of a population's clients set");
    let client_count = storage.client_count(organisation_id, &population).await?;
    Ok(Json(population_view(PopulationRecord { clients, ..record }, client_count)))
}
