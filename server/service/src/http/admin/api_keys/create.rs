use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_api::api_keys::{CreateApiKeyRequest, CreatedApiKey};
use folkmoot_protocol::Problem;
use folkmoot_rounds::credential::Credential;
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository};

use crate::http::{
    App,
    admin::{access::Caller, api_keys::view::api_key_view, read},
    problem::Refused,
};

/// Creates an API key. The response is the only one that contains its secret.
#[utoipa::path(
    post, path = "/v1/admin/api-keys", tag = "API keys", security(("api_key" = ["admin"])),
    request_body = CreateApiKeyRequest,
    responses(
        (status = 201, body = CreatedApiKey),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_api_key(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<CreatedApiKey>), Refused> {
    let request: CreateApiKeyRequest = read::json(&app, request).await?;
    let coordinator = &app.coordinator;
    let key = Credential::from_random_bytes(coordinator.random_bytes(), coordinator.random_bytes());
    let record = ApiKeyRecord {
        id: key.id.clone(),
        organisation_id: caller.organisation_id,
        name: request.name.into(),
        role: request.role,
        secret_hash: key.secret_hash(),
        created_at: (app.clock)(),
        revoked_at: None,
    };
    coordinator.storage.create_api_key(&record).await?;
    let role = record.role.name();
    tracing::info!(created = record.id, role, api_key = caller.api_key_id, "API key created");
    let created = CreatedApiKey { api_key: key.to_string(), record: api_key_view(record) };
    Ok((StatusCode::CREATED, Json(created)))
}
