use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::ApiKeyRepository;

use crate::http::{
    App,
    admin::{access::Caller, api_keys::check_whose, called, read},
    problem::Refused,
};

/// Revokes an API key. A key cannot revoke itself, and the last admin key cannot be revoked, not even when two admins
/// revoke each other's keys at the same time. Only privacy officers revoke the keys of privacy officers, and they revoke no
/// others.
#[utoipa::path(
    delete, path = "/v1/admin/api-keys/{id}", tag = "API keys", security(("api_key" = ["privacy_officer"])),
    params(("id" = String, Path, description = "The key's name, its id (the part before the dot), or the beginning of its id")),
    responses(
        (status = 204, description = "The key is revoked"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn revoke_api_key(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refused> {
    let id = called::api_key_id(&app, &caller, &id).await?;
    if caller.who.is_key(&id) {
        let detail = "a key cannot revoke itself; use another key to revoke it";
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    check_whose(&app, &caller, &id, "revoke").await?;
    let revoked = app.coordinator.storage.revoke_api_key(caller.organisation_id, &id, (app.clock)()).await;
    revoked.map_err(read::missing("API key", &id))?;
    tracing::info!(revoked = id, by = %caller.who, "API key revoked");
    Ok(StatusCode::NO_CONTENT)
}
