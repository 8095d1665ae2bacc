use axum::{
    Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode, header},
    response::{AppendHeaders, IntoResponse},
};
use folkmoot_api::session::{CreateSessionRequest, SessionView};
use folkmoot_protocol::{ErrorCode, Problem, Timestamp};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_storage::ApiKeyRecord;

use crate::http::{
    App,
    admin::{
        access::{self, Caller},
        cookie, read,
        session::{begin::begin, view::session_view},
    },
    problem::Refused,
};

/// The duration of a session, in seconds: 12 hours.
const SESSION_SECONDS: u64 = 12 * 3600;

/// The maximum size of a request, in bytes. It is small because anybody may send one.
const REQUEST_BYTES_MAX: usize = 4096;

/// Signs in with an API key. The response sets a session cookie that scripts cannot read.
#[utoipa::path(
    post, path = "/v1/admin/session", tag = "session", request_body = CreateSessionRequest,
    responses(
        (status = 201, body = SessionView, headers(("set-cookie" = String, description = "The session cookie"))),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_session(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<impl IntoResponse, Refused> {
    let (parts, body) = request.into_parts();
    let request: CreateSessionRequest =
        read::json_within(&app, &parts.headers, body, REQUEST_BYTES_MAX, &app.edge.strangers).await?;
    let (key, secret_until) = access::throttled(&app, &parts, key_of(&app, &request)).await?;
    let caller = Caller::from(key);
    let expires_at = (app.clock)().plus_seconds(SESSION_SECONDS);
    let expires_at = secret_until.map_or(expires_at, |until| until.min(expires_at));
    let (session, record) = begin(&app, &parts, &caller.who, expires_at, None).await?;
    let set = AppendHeaders([(header::SET_COOKIE, cookie::set(&session, SESSION_SECONDS))]);
    Ok((StatusCode::CREATED, set, Json(session_view(&session, &record, caller))))
}

/// Returns the key, and the end of its secret if a rotation has replaced it.
async fn key_of(
    app: &App,
    request: &CreateSessionRequest,
) -> Result<(ApiKeyRecord, Option<Timestamp>), Refusal> {
    let malformed =
        |error| Refusal::new(ErrorCode::ApiKeyInvalid, format!("the API key is malformed: {error}"));
    let credential: Credential = request.api_key.trim().parse().map_err(malformed)?;
    let key = access::key(&app.coordinator.storage, &credential, (app.clock)()).await?;
    let until = key.previous_until(credential.secret_hash());
    Ok((key, until))
}
