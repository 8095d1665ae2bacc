use axum::{Json, extract::State, http::HeaderMap};
use folkmoot_api::session::SessionView;
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::refusal::Refusal;

use crate::http::{
    App,
    admin::{access, cookie, session::view::session_view},
    problem::Refused,
};

/// Returns the current session and its role.
#[utoipa::path(
    get, path = "/v1/admin/session", tag = "session",
    responses(
        (status = 200, body = SessionView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_session(State(app): State<App>, headers: HeaderMap) -> Result<Json<SessionView>, Refused> {
    let nobody =
        || Refusal::new(ErrorCode::ApiKeyMissing, "there is no session; sign in with POST /v1/admin/session");
    let session = cookie::read(&headers).ok_or_else(nobody)?;
    let (record, caller) = access::session_and_caller(&app, &session).await?;
    Ok(Json(session_view(&session, &record, caller)))
}
