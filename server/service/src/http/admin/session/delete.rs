use axum::{
    extract::State,
    http::{HeaderMap, Method, StatusCode, header},
    response::{AppendHeaders, IntoResponse},
};
use folkmoot_protocol::Problem;
use folkmoot_storage::SessionRepository;

use crate::http::{
    App,
    admin::{access, cookie},
    problem::Refused,
};

/// Signs out. Succeeds even if the session has already ended.
#[utoipa::path(
    delete, path = "/v1/admin/session", tag = "session",
    responses(
        (status = 204, description = "The session has ended"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn delete_session(
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Refused> {
    if let Some(session) = cookie::read(&headers) {
        cookie::check_token(&session, &Method::DELETE, &headers)?;
        // Only the holder of the complete cookie ends the session; a guessed id does not.
        if access::key_of_session(&app, &session).await.is_ok() {
            app.coordinator.storage.delete_session(&session.id).await?;
        }
    }
    Ok((StatusCode::NO_CONTENT, AppendHeaders([(header::SET_COOKIE, cookie::clear())])))
}
