use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_api::api_keys::{CreateApiKeyRequest, CreatedApiKey};
use folkmoot_protocol::{ErrorCode, Problem, Role, Timestamp};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository};

use crate::http::{
    App,
    admin::{
        access::Caller,
        api_keys::{draw_key, view::api_key_view},
        officers, read,
        tokens::create::EXPIRES_IN_MAX,
    },
    problem::Refused,
};

/// Creates an API key. The response is the only one that contains its secret. A privacy officer may create keys of viewers
/// and privacy officers. If the organisation has a privacy officer, nobody else may create another one.
#[utoipa::path(
    post, path = "/v1/admin/api-keys", tag = "API keys", security(("api_key" = ["privacy_officer"])),
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
    if request.role == Role::System {
        let detail = "keys with the role system are created on the coordinator's machine: folkmoot key recover --role system";
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    match (caller.role, request.role) {
        (Role::PrivacyOfficer, Role::Viewer | Role::PrivacyOfficer) => {}
        (Role::PrivacyOfficer, role) => {
            let detail = format!(
                "a privacy officer may create keys of viewers and privacy officers, not of the role {}; ask an admin",
                role.name()
            );
            return Err(Refusal::new(ErrorCode::RoleInsufficient, detail).into());
        }
        (_, Role::PrivacyOfficer) => officers::check(&app, &caller, "create the key of another one").await?,
        _ => {}
    }
    let (coordinator, now) = (&app.coordinator, (app.clock)());
    let expires_at = request.expires_in_seconds.map(|seconds| expires_at(seconds, now)).transpose()?;
    let (key, record) = draw_key(coordinator, caller.organisation_id, request.name.into(), request.role, now);
    let record = ApiKeyRecord { expires_at, ..record };
    coordinator.storage.create_api_key(&record).await?;
    let role = record.role.name();
    tracing::info!(created = record.id, role, by = %caller.who, "API key created");
    let created = CreatedApiKey { api_key: key.to_string(), record: api_key_view(record) };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Returns the expiry of a key that is created at `now`.
fn expires_at(seconds: u64, now: Timestamp) -> Result<Timestamp, Refusal> {
    if (1..=EXPIRES_IN_MAX).contains(&seconds) {
        return Ok(now.plus_seconds(seconds));
    }
    let detail = format!(
        "expires_in_seconds is {seconds}; it must be 1 to {EXPIRES_IN_MAX} (100 years). Omit it for a key that never expires"
    );
    Err(Refusal::new(ErrorCode::MalformedRequest, detail))
}
