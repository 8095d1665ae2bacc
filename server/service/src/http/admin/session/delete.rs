use axum::{
    Json,
    body::Body,
    extract::State,
    http::{Method, Request, StatusCode, header},
    response::{AppendHeaders, IntoResponse},
};
use folkmoot_api::session::SignedOutView;
use folkmoot_protocol::Problem;
use folkmoot_rounds::credential::Credential;
use folkmoot_sign_in::RefreshToken;
use folkmoot_storage::{SessionRecord, SessionRepository, audit::on_behalf_of};

use crate::http::{
    App,
    admin::{access, cookie, renewal::give_up, who::Who},
    problem::Refused,
};

/// Signs out: ends the session in the cookie, or the person's session in the `authorization` header. Succeeds even if the
/// session has already ended. Only a cookie needs the CSRF token.
///
/// If a person signed in with an identity provider that has a page to sign out, the response names it. Until the person
/// opens it, the provider may sign the same person in again without asking.
#[utoipa::path(
    delete, path = "/v1/admin/session", tag = "session",
    responses(
        (status = 200, description = "The session has ended, but not yet at the identity provider", body = SignedOutView),
        (status = 204, description = "The session has ended"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn delete_session(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<impl IntoResponse, Refused> {
    let (parts, _) = request.into_parts();
    let mut provider_url = None;
    let in_header = parts.headers.contains_key(header::AUTHORIZATION);
    let session =
        if in_header { Some(access::bearer(&parts.headers)?) } else { cookie::read(&parts.headers) };
    if let Some(session) = session {
        if !in_header {
            cookie::check_token(&session, &Method::DELETE, &parts.headers)?;
        }
        // Only the holder of the complete secret ends the session; a guessed id does not.
        if let Ok((record, caller)) = access::open_session(&app, &session).await
            && (!in_header || caller.who.is_person())
        {
            let actor = access::actor(&app, &parts, &caller.who);
            on_behalf_of(actor, app.coordinator.storage.delete_session(&session.id)).await?;
            provider_url = leave(&app, &session, &record, &caller.who).await;
        }
    }
    let clear = AppendHeaders([(header::SET_COOKIE, cookie::clear())]);
    Ok(match provider_url {
        Some(provider_url) => (clear, Json(SignedOutView { provider_url })).into_response(),
        None => (StatusCode::NO_CONTENT, clear).into_response(),
    })
}

/// Gives up a person's refresh token, and returns where the person also signs out at the identity provider, if the
/// provider has such a page.
async fn leave(app: &App, session: &Credential, record: &SessionRecord, who: &Who) -> Option<String> {
    let Who::Person(person) = who else { return None };
    let (provider, now) = (app.providers.get(&person.provider)?, (app.clock)());
    if let Some(renewal) = &record.renewal
        && let Ok(token) = RefreshToken::open(&renewal.sealed_token, session.secret())
    {
        give_up(provider, &token, now).await;
    }
    provider.sign_out_url(now).await
}
