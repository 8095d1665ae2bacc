use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::tokens::RevokedTokenClients;
use folkmoot_protocol::Problem;
use folkmoot_storage::TokenRepository;

use crate::http::{
    App,
    admin::{access::Caller, called, read},
    problem::Refused,
};

/// Revokes an enrolment token and every client that enrolled with it. The coordinator rejects their further requests.
#[utoipa::path(
    post, path = "/v1/admin/tokens/{id}/revoke-clients", tag = "enrolment tokens", security(("api_key" = ["admin"])),
    params(("id" = String, Path, description = "The token's name, its id (the part before the dot), or the beginning of its id")),
    responses(
        (status = 200, body = RevokedTokenClients),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn revoke_clients_of_token(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<RevokedTokenClients>, Refused> {
    let id = called::token_id(&app, &caller, &id).await?;
    let storage = &app.coordinator.storage;
    let revoked = storage.revoke_token_and_clients(caller.organisation_id, &id, (app.clock)()).await;
    let clients_revoked = revoked.map_err(read::missing("token", &id))?;
    tracing::info!(
        token = id,
        clients = clients_revoked,
        by = %caller.who,
        "token revoked with its clients"
    );
    Ok(Json(RevokedTokenClients { token_id: id, clients_revoked }))
}
