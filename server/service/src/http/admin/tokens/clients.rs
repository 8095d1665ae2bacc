use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::clients::ClientView;
use folkmoot_protocol::{ClientId, Problem};
use folkmoot_storage::{ClientRepository, StorageError, TokenRepository};
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, called, clients::view::client_view, read},
    problem::Refused,
};

/// The requested page of a token's clients.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClientPage {
    /// The maximum number of clients: 1 to 100. Default: 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Returns clients that enrolled before this one. Use the id of the previous page's last client.
    before: Option<ClientId>,
}

/// Lists the clients that enrolled with a token, newest first.
#[utoipa::path(
    get, path = "/v1/admin/tokens/{id}/clients", tag = "enrolment tokens", security(("api_key" = ["admin"])),
    params(("id" = String, Path, description = "The token's name, its id (the part before the dot), or the beginning of its id"), ClientPage),
    responses(
        (status = 200, body = [ClientView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_clients_of_token(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    page: Result<Query<ClientPage>, QueryRejection>,
) -> Result<Json<Vec<ClientView>>, Refused> {
    let page = read::query(page)?;
    let id = called::token_id(&app, &caller, &id).await?;
    let (storage, organisation) = (&app.coordinator.storage, caller.organisation_id);
    if storage.token(&id).await?.is_none_or(|token| token.organisation_id != organisation) {
        return Err(read::missing("token", &id)(StorageError::NotFound("token")).into());
    }
    let limit = read::limit(page.limit)?;
    let clients = storage.clients_of_token(organisation, &id, limit, page.before).await?;
    Ok(Json(clients.into_iter().map(client_view).collect()))
}
