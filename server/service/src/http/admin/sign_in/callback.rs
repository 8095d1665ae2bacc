use axum::{
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{Request, header, request::Parts},
    response::{AppendHeaders, IntoResponse, Redirect, Response},
};
use folkmoot_protocol::{ErrorCode, Problem, Timestamp};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_sign_in::Provider;
use serde::Deserialize;

use super::{
    back_to_console, cookie,
    enter::{enter, organisation_of},
    provider,
};
use crate::http::{
    App,
    admin::{access, cookie as session_cookie, read},
    problem::Refused,
};

/// The answer of a provider, which comes through the browser. Providers add parameters of their own.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Answer {
    /// The code that the coordinator exchanges for the person's identity.
    code: Option<String>,
    /// The state of the attempt.
    state: Option<String>,
    /// The reason why the provider did not sign the person in.
    error: Option<String>,
}

/// Takes the browser back from an identity provider, starts a session and leads on to the console.
#[utoipa::path(
    get, path = "/v1/admin/sign-in/{provider}/callback", tag = "session",
    params(("provider" = String, Path, description = "The name of the identity provider"), Answer),
    responses(
        (status = 303, description = "A redirect to the console. If the sign-in was refused, `refused` is the error code",
            headers(("set-cookie" = String, description = "The session cookie"))),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn finish_sign_in(
    State(app): State<App>,
    Path(name): Path<String>,
    answer: Result<Query<Answer>, QueryRejection>,
    request: Request<Body>,
) -> Result<Response, Refused> {
    let provider = provider(&app, &name)?;
    let answer = read::query(answer)?;
    let (parts, _) = request.into_parts();
    let clear = cookie::clear();
    match access::throttled(&app, &parts, signed_in(&app, provider, &parts, answer)).await {
        Ok((session, expires_at)) => {
            let seconds = expires_at.milliseconds_since((app.clock)()) / 1000;
            let cookies = [clear, session_cookie::set(&session, seconds)];
            let set = AppendHeaders(cookies.map(|cookie| (header::SET_COOKIE, cookie)));
            Ok((set, Redirect::to("/console/")).into_response())
        }
        Err(refusal) => {
            tracing::warn!(provider = name, code = %refusal.code(), detail = refusal.0.detail, "sign-in refused");
            Ok((AppendHeaders([(header::SET_COOKIE, clear)]), back_to_console(&refusal)).into_response())
        }
    }
}

/// Starts a session for the person whom the provider confirms.
async fn signed_in(
    app: &App,
    provider: &Provider,
    parts: &Parts,
    answer: Answer,
) -> Result<(Credential, Timestamp), Refusal> {
    let failed = |detail: String| Refusal::new(ErrorCode::SignInFailed, detail);
    if let Some(error) = answer.error {
        let error: String = error.chars().take(64).collect();
        return Err(failed(format!(
            "the identity provider did not sign the person in: {error}; start again"
        )));
    }
    let attempt = cookie::read(&parts.headers);
    let (Some(attempt), Some(code), Some(state)) = (attempt, answer.code, answer.state) else {
        let detail = "this browser has no attempt to sign in, or it took longer than 10 minutes; start again";
        return Err(failed(detail.into()));
    };
    let organisation_id = organisation_of(app, provider).await?;
    let confirmed = provider.person(&attempt, &state, &code, (app.clock)()).await;
    let (session, record) = enter(app, parts, provider, organisation_id, confirmed).await?;
    Ok((session, record.expires_at))
}
