use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::api_keys::{CreatedApiKey, OVERLAP_SECONDS, OVERLAP_SECONDS_MAX, RotateApiKeyRequest};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_storage::ApiKeyRepository;

use crate::http::{
    App,
    admin::{
        access::Caller,
        api_keys::{check_whose, view::api_key_view},
        called, read,
    },
    problem::Refused,
};

/// Gives an API key a new secret. Its id, name, role and expiry stay. The old secret stays valid for `overlap_seconds`,
/// and sessions that began with it end then at the latest. Only the two newest secrets are valid: a second rotation
/// within this time ends the old secret at once, but not its sessions. So if the response of a rotation was lost, do
/// not repeat the rotation; revoke the key. No other response contains the new secret. Only privacy officers rotate the
/// keys of privacy officers, and they rotate no others.
#[utoipa::path(
    post, path = "/v1/admin/api-keys/{id}/rotate", tag = "API keys", security(("api_key" = ["privacy_officer"])),
    params(("id" = String, Path, description = "The key's name, its id (the part before the dot), or the beginning of its id")),
    request_body = RotateApiKeyRequest,
    responses(
        (status = 200, body = CreatedApiKey),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn rotate_api_key(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<Json<CreatedApiKey>, Refused> {
    let request: RotateApiKeyRequest = read::json(&app, request).await?;
    let overlap = request.overlap_seconds.unwrap_or(OVERLAP_SECONDS);
    if overlap > OVERLAP_SECONDS_MAX {
        let detail = format!("overlap_seconds is {overlap}; it must be 0 to {OVERLAP_SECONDS_MAX} (30 days)");
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    let id = called::api_key_id(&app, &caller, &id).await?;
    check_whose(&app, &caller, &id, "rotate").await?;
    let (coordinator, now) = (&app.coordinator, (app.clock)());
    let mut key = Credential::from_random_bytes([0; 8], coordinator.random_bytes());
    key.id = id.clone();
    let until = now.plus_seconds(overlap);
    let rotated =
        coordinator.storage.rotate_api_key(caller.organisation_id, &id, key.secret_hash(), until, now).await;
    let record = rotated.map_err(read::missing("valid API key", &id))?;
    tracing::info!(rotated = id, by = %caller.who, "API key rotated");
    Ok(Json(CreatedApiKey { api_key: key.to_string(), record: api_key_view(record) }))
}
