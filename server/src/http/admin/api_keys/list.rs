use axum::{Extension, Json, extract::State};
use folkmoot_protocol::Problem;
use folkmoot_storage::ApiKeyRepository;

use super::view::ApiKeyView;
use crate::{
    http::{App, admin::access::Caller},
    refusal::Refusal,
};

/// Lists API keys, oldest first, without their secrets.
#[utoipa::path(
    get, path = "/v1/admin/api-keys", tag = "API keys", security(("api_key" = ["admin"])),
    responses(
        (status = 200, body = [ApiKeyView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn list_api_keys(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<ApiKeyView>>, Refusal> {
    let keys = app.coordinator.storage.api_keys(caller.organisation_id).await?;
    Ok(Json(keys.into_iter().map(ApiKeyView::of).collect()))
}
