use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
};
use folkmoot_protocol::Problem;
use folkmoot_storage::SessionRepository;

use crate::http::{
    App,
    admin::{access::Caller, called, read},
    problem::Refused,
};

/// Ends a session of the organisation. Its next request is refused by every process, and its event streams close within
/// two seconds.
#[utoipa::path(
    delete, path = "/v1/admin/sessions/{id}", tag = "session", security(("api_key" = ["admin"])),
    params(("id" = String, Path, description = "The session's id, or the beginning of its id")),
    responses(
        (status = 204, description = "The session has ended"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn end_session(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refused> {
    let id = called::session_id(&app, &caller, &id).await?;
    let ended = app.coordinator.storage.end_session(caller.organisation_id, &id).await;
    ended.map_err(read::missing("session", &id))?;
    tracing::info!(session = id, by = %caller.who, "ended the session of somebody");
    Ok(StatusCode::NO_CONTENT)
}
