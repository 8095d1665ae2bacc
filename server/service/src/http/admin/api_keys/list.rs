use axum::{Extension, Json, extract::State};
use folkmoot_api::api_keys::ApiKeyView;
use folkmoot_protocol::Problem;
use folkmoot_storage::ApiKeyRepository;

use crate::http::{
    App,
    admin::{access::Caller, api_keys::view::api_key_view},
    problem::Refused,
};

/// Lists API keys, oldest first, without their secrets.
#[utoipa::path(
    get, path = "/v1/admin/api-keys", tag = "API keys", security(("api_key" = ["privacy_officer"])),
    responses(
        (status = 200, body = [ApiKeyView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_api_keys(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<ApiKeyView>>, Refused> {
    let keys = app.coordinator.storage.api_keys(caller.organisation_id).await?;
    Ok(Json(keys.into_iter().map(api_key_view).collect()))
}
