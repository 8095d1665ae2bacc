use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::clients::RevokedClient;
use folkmoot_protocol::{ClientId, ErrorCode, Problem};
use folkmoot_storage::{ClientRepository, TokenAfter, TokenRepository};
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, clients::view::client_view, read},
    problem::Refused,
};

/// How a client is revoked.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RevokeClientQuery {
    /// Leaves the token open with which the client enrolled. A device that still has it can then come back with a new key.
    #[serde(default)]
    keep_token_open: bool,
}

/// Revokes a client's key: the coordinator takes no request of it any more. The token with which it enrolled is closed to new
/// clients unless the query keeps it open; clients that enrolled with it before go on.
#[utoipa::path(
    post, path = "/v1/admin/clients/{id}/revoke", tag = "clients", security(("api_key" = ["admin"])),
    params(("id" = String, Path, description = "The client"), RevokeClientQuery),
    responses(
        (status = 200, body = RevokedClient),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn revoke_client(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(text): Path<String>,
    query: Result<Query<RevokeClientQuery>, QueryRejection>,
) -> Result<Json<RevokedClient>, Refused> {
    let keep_token_open = read::query(query)?.keep_token_open;
    let id: ClientId = read::id(&text, ErrorCode::ResourceUnknown)?;
    let after = if keep_token_open { TokenAfter::Open } else { TokenAfter::Closed };
    let storage = &app.coordinator.storage;
    let revoked = storage.revoke_client(caller.organisation_id, id, after, (app.clock)()).await;
    let client = client_view(revoked.map_err(read::missing("client", &text))?);
    tracing::info!(client = %id, token = client.token_id, keep_token_open, api_key = caller.api_key_id, "client revoked");
    let token = match &client.token_id {
        Some(id) => storage.token(id).await?,
        None => None,
    };
    let token_closed = token.is_some_and(|token| token.closed_at.or(token.revoked_at).is_some());
    Ok(Json(RevokedClient { client, token_closed }))
}
