use axum::{Extension, Json, body::Body, extract::State, http::Request};
use folkmoot_api::session::{EndSessionsRequest, EndedSessionsView};
use folkmoot_protocol::Problem;
use folkmoot_storage::SessionRepository;

use crate::http::{
    App,
    admin::{access::Caller, read},
    problem::Refused,
};

/// Ends all sessions of a person who signed in with an identity provider. The person can sign in again: remove their groups
/// at the provider first.
#[utoipa::path(
    post, path = "/v1/admin/sessions/end", tag = "session", security(("api_key" = ["admin"])),
    request_body = EndSessionsRequest,
    responses(
        (status = 200, body = EndedSessionsView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn end_sessions_of_person(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Json<EndedSessionsView>, Refused> {
    let EndSessionsRequest { provider, subject } = read::json(&app, request).await?;
    let storage = &app.coordinator.storage;
    let ended = storage.end_sessions_of_person(caller.organisation_id, &provider, &subject).await?;
    tracing::info!(sessions = ended, by = %caller.who, "ended the sessions of a person");
    Ok(Json(EndedSessionsView { ended }))
}
