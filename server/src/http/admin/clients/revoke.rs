use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
};
use folkmoot_protocol::{ClientId, ErrorCode, Problem};
use folkmoot_storage::{ClientRepository, TokenAfter};

use crate::{
    http::{
        App,
        admin::{access::Caller, read},
    },
    refusal::Refusal,
};

/// Revokes a client's key: the coordinator takes no request of it any more.
#[utoipa::path(
    post, path = "/v1/admin/clients/{id}/revoke", tag = "clients", security(("api_key" = ["admin"])),
    params(("id" = String, Path, description = "The client")),
    responses(
        (status = 204, description = "It is revoked"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn revoke_client(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(text): Path<String>,
) -> Result<StatusCode, Refusal> {
    let id: ClientId = read::id(&text, ErrorCode::ResourceUnknown)?;
    let (storage, now) = (&app.coordinator.storage, (app.clock)());
    let revoked = storage.revoke_client(caller.organisation_id, id, TokenAfter::Open, now).await;
    revoked.map_err(read::missing("client", &text))?;
    tracing::info!(client = %id, api_key = caller.api_key_id, "client revoked");
    Ok(StatusCode::NO_CONTENT)
}
