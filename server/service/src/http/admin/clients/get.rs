use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::clients::ClientView;
use folkmoot_protocol::Problem;
use folkmoot_storage::{ClientRepository, StorageError};

use crate::http::{
    App,
    admin::{access::Caller, called, clients::view::client_view, read},
    problem::Refused,
};

/// Returns a client, with the enrolment token that it used.
#[utoipa::path(
    get, path = "/v1/admin/clients/{id}", tag = "clients", security(("api_key" = ["admin"])),
    params(("id" = String, Path, description = "The client's id, the beginning of its id, or the name of its site")),
    responses(
        (status = 200, body = ClientView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_client(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(text): Path<String>,
) -> Result<Json<ClientView>, Refused> {
    let id = called::client_id(&app, &caller, &text).await?;
    let client = app.coordinator.storage.client(id).await?;
    let client = client.filter(|client| client.organisation_id == caller.organisation_id);
    let missing = || read::missing("client", &text)(StorageError::NotFound("client"));
    Ok(Json(client_view(client.ok_or_else(missing)?)))
}
