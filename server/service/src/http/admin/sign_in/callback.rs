use axum::{
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{Request, header, request::Parts},
    response::{AppendHeaders, IntoResponse, Redirect, Response},
};
use folkmoot_protocol::{ErrorCode, OrganisationId, Problem, Timestamp};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_sign_in::{Person, Provider, SignInError};
use folkmoot_storage::{PersonRecord, SessionRepository, audit::on_behalf_of};
use serde::Deserialize;

use super::{back_to_console, cookie, provider, refusal::refusal};
use crate::http::{
    App,
    admin::{
        access, cookie as session_cookie, read,
        session::begin::begin,
        who::{Who, person_text},
    },
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
        (status = 303, description = "The way to the console. If the sign-in was refused, `refused` is the error code",
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
    match provider.person(&attempt, &state, &code, (app.clock)()).await {
        Ok(person) => {
            let (who, expires_at) = holder(provider, organisation_id, person);
            begin(app, parts, &who, expires_at).await.map(|(session, _)| (session, expires_at))
        }
        Err(error) => {
            if let SignInError::NoRole { subject, name } = &error {
                record_refused(app, parts, organisation_id, &person_text(provider.name(), subject, name))
                    .await?;
            }
            Err(refusal(&error))
        }
    }
}

/// Finds the organisation of a provider. Its name is in the configuration, and the organisation may have been created
/// later.
async fn organisation_of(app: &App, provider: &Provider) -> Result<OrganisationId, Refusal> {
    let all = app.coordinator.storage.database()?.organisations().await?;
    let open = all.into_iter().find(|one| one.name == provider.organisation() && one.closed_at.is_none());
    open.map(|one| one.id).ok_or_else(|| {
        let detail = format!(
            "the provider {} is for the organisation {}, which does not exist or is closed; create it, or change \
             sign_in.providers",
            provider.name(),
            provider.organisation()
        );
        Refusal::new(ErrorCode::ResourceUnknown, detail)
    })
}

fn holder(provider: &Provider, organisation_id: OrganisationId, person: Person) -> (Who, Timestamp) {
    let Person { subject, name, role, expires_at } = person;
    let provider = provider.name().to_owned();
    (Who::Person(PersonRecord { organisation_id, provider, subject, name, role }), expires_at)
}

/// Records a person without a role in the audit log. Anybody could make other failures, and fill the log with them.
async fn record_refused(
    app: &App,
    parts: &Parts,
    organisation_id: OrganisationId,
    person: &str,
) -> Result<(), Refusal> {
    let actor = access::actor_of(app, parts, person.to_owned());
    let recorded = app.coordinator.storage.record_refused_person(organisation_id, person);
    Ok(on_behalf_of(actor, recorded).await?)
}
