use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
};
use folkmoot_protocol::Problem;
use folkmoot_storage::TokenRepository;

use crate::http::{
    App,
    admin::{access::Caller, called, read},
    problem::Refused,
};

/// Revokes an enrolment token. Clients that it enrolled stay enrolled; `revoke-clients` revokes them, too.
#[utoipa::path(
    delete, path = "/v1/admin/tokens/{id}", tag = "enrolment tokens", security(("api_key" = ["operator"])),
    params(("id" = String, Path, description = "The token's name, its id (the part before the dot), or the beginning of its id")),
    responses(
        (status = 204, description = "The token is revoked"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn revoke_token(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refused> {
    let id = called::token_id(&app, &caller, &id).await?;
    let revoked = app.coordinator.storage.revoke_token(caller.organisation_id, &id, (app.clock)()).await;
    revoked.map_err(read::missing("token", &id))?;
    tracing::info!(token = id, by = %caller.who, "token revoked");
    Ok(StatusCode::NO_CONTENT)
}
