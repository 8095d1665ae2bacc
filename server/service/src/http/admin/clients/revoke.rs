use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::clients::RevokedClient;
use folkmoot_protocol::Problem;
use folkmoot_storage::{ClientRepository, TokenAfter, TokenRepository};
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, called, clients::view::client_view, read},
    problem::Refused,
};

/// The query parameters for the revocation of a client.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RevokeClientQuery {
    /// Keeps the client's enrolment token open. A device that still has the token can then enrol again with a new
    /// key. Default: `false`.
    #[serde(default)]
    keep_token_open: bool,
}

/// Revokes a client: the coordinator rejects its further requests. Also closes the client's enrolment token to new
/// clients, unless `keep_token_open` is set. Other clients that enrolled with the token are not affected.
#[utoipa::path(
    post, path = "/v1/admin/clients/{id}/revoke", tag = "clients", security(("api_key" = ["admin"])),
    params(("id" = String, Path, description = "The client's id, the beginning of its id, or the name of its site"), RevokeClientQuery),
    responses(
        (status = 200, body = RevokedClient),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn revoke_client(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(text): Path<String>,
    query: Result<Query<RevokeClientQuery>, QueryRejection>,
) -> Result<Json<RevokedClient>, Refused> {
    let keep_token_open = read::query(query)?.keep_token_open;
    let id = called::client_id(&app, &caller, &text).await?;
    let after = if keep_token_open { TokenAfter::Open } else { TokenAfter::Closed };
    let storage = &app.coordinator.storage;
    let revoked = storage.revoke_client(caller.organisation_id, id, after, (app.clock)()).await;
    let client = client_view(revoked.map_err(read::missing("client", &text))?);
    tracing::info!(client = %id, token = client.token_id, keep_token_open, by = %caller.who, "client revoked");
    let token = match &client.token_id {
        Some(id) => storage.token(id).await?,
        None => None,
    };
    let token_closed = token.is_some_and(|token| token.closed_at.or(token.revoked_at).is_some());
    Ok(Json(RevokedClient { client, token_closed }))
}
