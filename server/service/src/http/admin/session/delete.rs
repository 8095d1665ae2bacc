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

/// Ends the session. One that is over already is ended as well.
#[utoipa::path(
    delete, path = "/v1/admin/session", tag = "session",
    responses(
        (status = 204, description = "Nobody is signed in any more"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn delete_session(
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Refused> {
    if let Some(session) = cookie::read(&headers) {
        cookie::check_token(&session, &Method::DELETE, &headers)?;
        // Who has the right cookie ends it; whoever guesses an id does not.
        if access::key_of_session(&app, &session).await.is_ok() {
            app.coordinator.storage.delete_session(&session.id).await?;
        }
    }
    Ok((StatusCode::NO_CONTENT, AppendHeaders([(header::SET_COOKIE, cookie::clear())])))
}
