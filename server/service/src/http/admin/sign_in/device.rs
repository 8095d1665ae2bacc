use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::{Request, request::Parts},
};
use folkmoot_api::session::{DeviceSignInRequest, DeviceSignInState, DeviceSignInView, PersonView};
use folkmoot_protocol::Problem;
use folkmoot_rounds::refusal::Refusal;
use folkmoot_sign_in::{DEVICE_CODE_BYTES_MAX, DeviceAuthorization, DeviceSignIn, Provider};
use folkmoot_storage::{SessionHolder, SessionRecord};

use super::{
    enter::{enter, organisation_of},
    provider,
    refusal::refusal,
};
use crate::http::{
    App,
    admin::{access, read},
    problem::Refused,
};

/// The maximum size of a request, in bytes. It is small because anybody may send one.
const REQUEST_BYTES_MAX: usize = DEVICE_CODE_BYTES_MAX + 1024;

/// Begins a sign-in for a program without a browser (RFC 8628): returns a code that a person enters at the identity
/// provider. Needs no key.
#[utoipa::path(
    post, path = "/v1/admin/sign-in/{provider}/device", tag = "session",
    params(("provider" = String, Path, description = "The name of the identity provider")),
    responses(
        (status = 200, body = DeviceSignInView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn begin_device_sign_in(
    State(app): State<App>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Result<Json<DeviceSignInView>, Refused> {
    let (provider, (parts, _)) = (provider(&app, &name)?, request.into_parts());
    let begun = async { provider.device_authorization((app.clock)()).await.map_err(|error| refusal(&error)) };
    let begun = access::throttled(&app, &parts, begun).await.inspect_err(|refusal| log(&name, refusal))?;
    let DeviceAuthorization {
        device_code,
        user_code,
        verification_uri,
        verification_uri_complete,
        expires_in_seconds,
        interval_seconds,
    } = begun;
    Ok(Json(DeviceSignInView {
        device_code,
        user_code,
        verification_uri,
        verification_uri_complete,
        expires_in_seconds,
        interval_seconds,
    }))
}

/// Returns the state of a sign-in. When the person has finished, starts a session and returns it once. Needs no key.
///
/// A program asks again while the state is `pending`, and waits between two requests: `interval_seconds` of the begun
/// sign-in, and 5 seconds more after each `slow_down`.
#[utoipa::path(
    post, path = "/v1/admin/sign-in/{provider}/device/token", tag = "session", request_body = DeviceSignInRequest,
    params(("provider" = String, Path, description = "The name of the identity provider")),
    responses(
        (status = 200, body = DeviceSignInState),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn finish_device_sign_in(
    State(app): State<App>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Result<Json<DeviceSignInState>, Refused> {
    let (provider, (parts, body)) = (provider(&app, &name)?, request.into_parts());
    let request: DeviceSignInRequest =
        read::json_within(&app, &parts.headers, body, REQUEST_BYTES_MAX, &app.edge.strangers).await?;
    let state = state_of(&app, provider, &parts, &request.device_code);
    let state = access::throttled(&app, &parts, state).await.inspect_err(|refusal| log(&name, refusal))?;
    Ok(Json(state))
}

async fn state_of(
    app: &App,
    provider: &Provider,
    parts: &Parts,
    device_code: &str,
) -> Result<DeviceSignInState, Refusal> {
    let organisation_id = organisation_of(app, provider).await?;
    let confirmed = match provider.device_person(device_code, (app.clock)()).await {
        Ok(DeviceSignIn::Pending) => return Ok(DeviceSignInState::Pending),
        Ok(DeviceSignIn::SlowDown) => return Ok(DeviceSignInState::SlowDown),
        Ok(DeviceSignIn::Person(person)) => Ok(person),
        Err(error) => Err(error),
    };
    let (session, record) = enter(app, parts, provider, organisation_id, confirmed).await?;
    let SessionRecord { holder: SessionHolder::Person(person), expires_at, .. } = record else {
        unreachable!("the session was started for a person");
    };
    Ok(DeviceSignInState::SignedIn {
        session: session.to_string(),
        expires_at,
        role: person.role.name().into(),
        organisation: provider.organisation().to_owned(),
        person: PersonView { provider: person.provider, subject: person.subject, name: person.name },
    })
}

fn log(provider: &str, refusal: &Refusal) {
    tracing::warn!(provider, code = %refusal.code(), detail = refusal.0.detail, "sign-in refused");
}
