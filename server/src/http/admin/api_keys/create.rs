use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_protocol::{DisplayName, Problem};
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::view::ApiKeyView;
use crate::{
    credential::Credential,
    http::{
        App,
        admin::{
            access::{Caller, role_name},
            read,
        },
    },
    refusal::Refusal,
};

/// A key to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKeyRequest {
    /// A name for humans, 1 to 128 bytes without control characters: who will use it, and for what.
    #[schema(
        value_type = String, min_length = 1, max_length = 128,
        // No character that controls how text is shown, and one that is not space.
        pattern = "^(?!\\s*$)[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]+$"
    )]
    pub name: DisplayName,
    /// `viewer` (see), `operator` (run tasks) or `admin` (hand out keys).
    #[schema(value_type = RoleWord)]
    pub role: Role,
}

/// The roles of a key, as the OpenAPI document lists them.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "the document is made of it, and nothing else")]
enum RoleWord {
    /// See.
    Viewer,
    /// Run tasks.
    Operator,
    /// Hand out keys.
    Admin,
}

/// A key that was made, with its secret. It is shown here and never again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedApiKey {
    /// `ID.SECRET`, as it is sent in the header `authorization: Bearer ID.SECRET`.
    pub api_key: String,
    /// What the list of keys shows.
    pub record: ApiKeyView,
}

/// Makes an API key.
#[utoipa::path(
    post, path = "/v1/admin/api-keys", tag = "API keys", security(("api_key" = ["admin"])),
    request_body = CreateApiKeyRequest,
    responses(
        (status = 201, body = CreatedApiKey),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn create_api_key(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<CreatedApiKey>), Refusal> {
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
    let role = role_name(record.role);
    tracing::info!(created = record.id, role, api_key = caller.api_key_id, "API key created");
    let created = CreatedApiKey { api_key: key.to_string(), record: ApiKeyView::of(record) };
    Ok((StatusCode::CREATED, Json(created)))
}
