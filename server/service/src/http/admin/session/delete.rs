use axum::{
    body::Body,
    extract::State,
    http::{Method, Request, StatusCode, header},
    response::{AppendHeaders, IntoResponse},
};
use folkmoot_protocol::Problem;
use folkmoot_storage::{SessionRepository, audit::on_behalf_of};

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
    request: Request<Body>,
) -> Result<impl IntoResponse, Refused> {
    let (parts, _) = request.into_parts();
    if let Some(session) = cookie::read(&parts.headers) {
        cookie::check_token(&session, &Method::DELETE, &parts.headers)?;
        // Only the holder of the complete cookie ends the session; a guessed id does not.
        if let Ok(key) = access::key_of_session(&app, &session).await {
            let actor = access::actor(&app, &parts, &key.id);
            on_behalf_of(actor, app.coordinator.storage.delete_session(&session.id)).await?;
        }
    }
    Ok((StatusCode::NO_CONTENT, AppendHeaders([(header::SET_COOKIE, cookie::clear())])))
}
