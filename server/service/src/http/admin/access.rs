//! Who may use which endpoint: an API key, or a session that one began, with its organisation and its role.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, header, request::Parts},
    middleware::Next,
    response::Response,
};
use folkmoot_protocol::{ErrorCode, OrganisationId, Role};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_storage::{ApiKeyId, ApiKeyRecord, ApiKeyRepository, SessionRepository, Storage};

use super::cookie;
use crate::http::{App, problem::Refused};

/// Who asks. Handlers get it as an extension; without the gate there is none, and the handler does not run.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The organisation: nothing of another one exists for the caller.
    pub organisation_id: OrganisationId,
    /// The public part of the key.
    pub api_key_id: ApiKeyId,
    /// What the key may do.
    pub role: Role,
}

/// What stands before one endpoint.
#[derive(Clone)]
pub struct Gate {
    /// What every handler can reach.
    pub app: App,
    /// The least role that passes.
    pub role: Role,
}

/// Lets a request through whose key has the gate's role, before anything of its body is read.
pub async fn check(
    State(gate): State<Gate>,
    request: Request<Body>,
    next: Next,
) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let caller = throttled(&gate.app, &parts, caller(&gate.app, &parts.method, &parts.headers)).await?;
    if !may(caller.role, gate.role) {
        let detail = format!(
            "this needs the role {}, the key {} has the role {}; ask an admin for another key",
            gate.role.name(),
            caller.api_key_id,
            caller.role.name()
        );
        return Err(Refusal::new(ErrorCode::RoleInsufficient, detail).into());
    }
    let mut request = Request::from_parts(parts, body);
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Looks a key up, and tells an address that shows too many wrong ones to slow down: its connection ends if it does not.
pub async fn throttled<T>(
    app: &App,
    parts: &Parts,
    look_up: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    let sender = app.edge.sender(&parts.headers, &parts.extensions);
    look_up.await.map_err(|refusal| match refusal.code() {
        ErrorCode::ApiKeyInvalid => app.edge.failed(sender, refusal, (app.clock)()),
        _ => refusal,
    })
}

/// Says whether a key of `role` may do what takes `least`: each role may do all that the roles before it may.
pub fn may(role: Role, least: Role) -> bool {
    role >= least
}

/// Finds out who asks. A header wins over a cookie: a browser sends cookies unasked.
pub async fn caller(app: &App, method: &Method, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let storage = &app.coordinator.storage;
    let record = match cookie::read(headers) {
        Some(session) if !headers.contains_key(header::AUTHORIZATION) => {
            cookie::check_token(&session, method, headers)?;
            key_of_session(app, &session).await?
        }
        _ => key(storage, &bearer(headers)?).await?,
    };
    Ok(Caller { organisation_id: record.organisation_id, api_key_id: record.id, role: record.role })
}

/// Finds a key that was neither revoked nor guessed.
///
/// # Errors
/// [`ErrorCode::ApiKeyInvalid`] for any other.
pub async fn key(storage: &Storage, key: &Credential) -> Result<ApiKeyRecord, Refusal> {
    let invalid = || Refusal::new(ErrorCode::ApiKeyInvalid, "the API key is not known, or was revoked");
    let record = storage.api_key(&key.id).await?.ok_or_else(invalid)?;
    // Hashes of 256 random bits are compared, so the comparison's time tells nothing that helps.
    if record.secret_hash != key.secret_hash() || record.revoked_at.is_some() {
        return Err(invalid());
    }
    Ok(record)
}

/// Finds the key with which a session began: it may do what the key may, and ends with it.
///
/// # Errors
/// [`ErrorCode::ApiKeyInvalid`] if the session is over or was guessed, or the key was revoked.
pub async fn key_of_session(app: &App, session: &Credential) -> Result<ApiKeyRecord, Refusal> {
    let over = || Refusal::new(ErrorCode::ApiKeyInvalid, "the session is over: sign in again");
    let storage = &app.coordinator.storage;
    let record = storage.session(&session.id).await?.ok_or_else(over)?;
    if record.secret_hash != session.secret_hash() || record.expires_at <= (app.clock)() {
        return Err(over());
    }
    let key = storage.api_key(&record.api_key_id).await?.filter(|key| key.revoked_at.is_none());
    key.ok_or_else(over)
}

/// Reads `Authorization: Bearer ID.SECRET`. An API key has the form of an enrolment token.
fn bearer(headers: &HeaderMap) -> Result<Credential, Refusal> {
    let missing =
        || Refusal::new(ErrorCode::ApiKeyMissing, "send the header `authorization: Bearer ID.SECRET`");
    let text = headers.get(header::AUTHORIZATION).ok_or_else(missing)?.to_str().map_err(|_| missing())?;
    let (scheme, key) = text.split_once(' ').ok_or_else(missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(missing());
    }
    key.trim()
        .parse()
        .map_err(|error| Refusal::new(ErrorCode::ApiKeyInvalid, format!("the API key: {error}")))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn code_of(value: Option<&'static str>) -> Option<ErrorCode> {
        let mut headers = HeaderMap::new();
        headers.extend(value.map(|value| (header::AUTHORIZATION, HeaderValue::from_static(value))));
        bearer(&headers).err().map(|refusal| refusal.code())
    }

    #[test]
    fn only_a_bearer_of_the_right_form_is_looked_up() {
        assert_eq!(code_of(None), Some(ErrorCode::ApiKeyMissing));
        assert_eq!(code_of(Some("Basic YTpi")), Some(ErrorCode::ApiKeyMissing));
        assert_eq!(code_of(Some("Bearer")), Some(ErrorCode::ApiKeyMissing));
        assert_eq!(code_of(Some("Bearer nonsense")), Some(ErrorCode::ApiKeyInvalid));
        let key = "bearer 0123456789abcdef.0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        assert_eq!(code_of(Some(key)), None);
    }

    #[test]
    fn a_role_may_do_what_the_roles_before_it_may() {
        let roles = [Role::Viewer, Role::Operator, Role::Admin];
        for (index, role) in roles.into_iter().enumerate() {
            for (least_index, least) in roles.into_iter().enumerate() {
                assert_eq!(may(role, least), index >= least_index, "{} for {}", role.name(), least.name());
            }
        }
    }
}
