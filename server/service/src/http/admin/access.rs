//! Access control: each request needs an API key, or the session of somebody who signed in with a key or with an identity
//! provider. Both carry an organisation and a role. Keys come in a header, sessions in a cookie or in that header.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, header, request::Parts},
    middleware::Next,
    response::Response,
};
use folkmoot_protocol::{ErrorCode, OrganisationId, Role, Timestamp};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, PersonRecord, SessionHolder, SessionRecord, SessionRepository, Storage,
    audit::{Actor, on_behalf_of},
};

use super::{cookie, renewal, who::Who};
use crate::http::{App, problem::Refused};

/// The authenticated caller, which handlers receive as a request extension. The gate inserts it; a handler that runs
/// without the gate is rejected.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The caller's organisation. Data of other organisations is invisible to the caller.
    pub organisation_id: OrganisationId,
    /// The role of the key or person.
    pub role: Role,
    /// The key or person.
    pub who: Who,
    /// When the key or session expires; `None` if it does not.
    pub expires_at: Option<Timestamp>,
}

impl From<ApiKeyRecord> for Caller {
    fn from(key: ApiKeyRecord) -> Self {
        Self {
            organisation_id: key.organisation_id,
            role: key.role,
            expires_at: key.expires_at,
            who: Who::ApiKey { id: key.id, name: key.name },
        }
    }
}

impl Caller {
    fn person(person: PersonRecord) -> Self {
        let (organisation_id, role) = (person.organisation_id, person.role);
        Self { organisation_id, role, who: Who::Person(person), expires_at: None }
    }
}

/// The access check in front of one endpoint.
#[derive(Clone)]
pub struct Gate {
    /// The shared application state.
    pub app: App,
    /// The lowest role that may use the endpoint.
    pub role: Role,
}

/// Lets a request pass if its key has at least the gate's role. Runs before any of the body is read.
pub async fn check(
    State(gate): State<Gate>,
    request: Request<Body>,
    next: Next,
) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let caller = throttled(&gate.app, &parts, caller(&gate.app, &parts.method, &parts.headers)).await?;
    if !may(caller.role, gate.role) {
        let whom = match gate.role {
            Role::System => "use a key of `folkmoot key recover --role system`",
            Role::Aggregator => "use a key of `folkmoot key create --role aggregator`",
            _ if caller.who.is_person() => "ask an admin for a group with the needed role",
            _ => "ask an admin for a key with the needed role",
        };
        let detail = format!(
            "this request needs the role {}, but the {} has the role {}; {whom}",
            gate.role.name(),
            caller.who,
            caller.role.name()
        );
        return Err(Refusal::new(ErrorCode::RoleInsufficient, detail).into());
    }
    let actor = actor(&gate.app, &parts, &caller.who);
    let mut request = Request::from_parts(parts, body);
    request.extensions_mut().insert(caller);
    Ok(on_behalf_of(actor, next.run(request)).await)
}

/// Returns the author that the audit log names for the acts of a request.
pub fn actor(app: &App, parts: &Parts, who: &Who) -> Actor {
    actor_of(app, parts, who.to_string())
}

/// Returns the author `by` of an act.
pub fn actor_of(app: &App, parts: &Parts, by: String) -> Actor {
    let sender = app.edge.sender(&parts.headers, &parts.extensions);
    Actor { by, from: Some(sender.to_string()), at: (app.clock)() }
}

/// Awaits the look-up of a key, or a sign-in. If it fails, counts the failure for the sender's address. An address with
/// too many failures gets an error that asks it to slow down. If it continues, its connection is closed.
pub async fn throttled<T>(
    app: &App,
    parts: &Parts,
    look_up: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    let sender = app.edge.sender(&parts.headers, &parts.extensions);
    look_up.await.map_err(|refusal| match refusal.code() {
        ErrorCode::ApiKeyInvalid | ErrorCode::SignInFailed => {
            app.edge.failed(sender, (app.clock)()).err().map_or(refusal, Refusal)
        }
        _ => refusal,
    })
}

/// Returns whether `role` has the rights of `least`. Admins have the rights of all lower roles, but some endpoints grant a
/// privacy officer more ([`officers`](super::officers)). System administrators have only their own rights.
pub fn may(role: Role, least: Role) -> bool {
    match role {
        // Neither includes another role, nor is included in one.
        Role::System | Role::Aggregator => least == role,
        Role::PrivacyOfficer => matches!(least, Role::Viewer | Role::PrivacyOfficer),
        role => role >= least && least != Role::Aggregator,
    }
}

/// Authenticates the caller. The `authorization` header takes precedence over a cookie, because browsers send cookies
/// without being asked.
pub async fn caller(app: &App, method: &Method, headers: &HeaderMap) -> Result<Caller, Refusal> {
    match cookie::read(headers) {
        Some(session) if !headers.contains_key(header::AUTHORIZATION) => {
            cookie::check_token(&session, method, headers)?;
            Ok(session_and_caller(app, &session).await?.1)
        }
        _ => bearer_caller(app, &bearer(headers)?).await,
    }
}

/// Authenticates an API key, or the session of a person, which the command line sends in the same header.
///
/// A session that began in a browser is accepted too: its secret is the same, and a page cannot read it. No CSRF token is
/// needed, because browsers never add this header by themselves. Sessions of API keys are refused: whoever has the key
/// can send the key.
async fn bearer_caller(app: &App, credential: &Credential) -> Result<Caller, Refusal> {
    let refusal = match key(&app.coordinator.storage, credential, (app.clock)()).await {
        Err(refusal) if refusal.code() == ErrorCode::ApiKeyInvalid => refusal,
        key => return Ok(used(app, key?)),
    };
    let Some(record) = app.coordinator.storage.session(&credential.id).await? else { return Err(refusal) };
    match renewed_caller(app, credential, record).await?.1 {
        caller if caller.who.is_person() => Ok(caller),
        _ => Err(refusal),
    }
}

/// Notes that a valid key is used, and returns its holder.
fn used(app: &App, key: ApiKeyRecord) -> Caller {
    app.coordinator.last_uses.note_key(&key, (app.clock)());
    key.into()
}

/// Finds a key and verifies its secret; revoked and expired keys are rejected.
///
/// # Errors
/// [`ErrorCode::ApiKeyInvalid`] if the key is unknown, revoked or expired, or its secret is wrong. Also fails if the storage
/// fails.
pub async fn key(storage: &Storage, key: &Credential, now: Timestamp) -> Result<ApiKeyRecord, Refusal> {
    let invalid = || {
        Refusal::new(
            ErrorCode::ApiKeyInvalid,
            "the API key or session is unknown, was revoked or has expired; ask an admin for a new key, or sign in again",
        )
    };
    let record = storage.api_key(&key.id).await?.ok_or_else(invalid)?;
    match record.accepts(key.secret_hash(), now) {
        true => Ok(record),
        false => Err(invalid()),
    }
}

/// Finds a session and its holder, and renews the session if that is due.
///
/// # Errors
/// The errors of [`open_session`] and of [`renewal::renewed`].
pub async fn session_and_caller(app: &App, session: &Credential) -> Result<(SessionRecord, Caller), Refusal> {
    let record = app.coordinator.storage.session(&session.id).await?.ok_or_else(over)?;
    renewed_caller(app, session, record).await
}

async fn renewed_caller(
    app: &App,
    session: &Credential,
    record: SessionRecord,
) -> Result<(SessionRecord, Caller), Refusal> {
    check_open(app, session, &record)?;
    let record = renewal::renewed(app, session, record).await?;
    let caller = holder(app, &record).await?;
    app.coordinator.last_uses.note_session(&record, (app.clock)());
    Ok((record, caller))
}

/// Finds a session and its holder as they are. A session of a key has the key's rights, and ends when the key is revoked
/// or expires. A session of a person has the role at sign-in or at its last renewal, and ends when the provider is
/// removed from the configuration.
///
/// # Errors
/// [`ErrorCode::ApiKeyInvalid`] if the session is unknown or has ended, its secret is wrong, the key was revoked, or the
/// provider was removed. Also fails if the storage fails.
pub async fn open_session(app: &App, session: &Credential) -> Result<(SessionRecord, Caller), Refusal> {
    let record = app.coordinator.storage.session(&session.id).await?.ok_or_else(over)?;
    check_open(app, session, &record)?;
    let caller = holder(app, &record).await?;
    Ok((record, caller))
}

/// Verifies the secret of a session, and that the session has not expired.
fn check_open(app: &App, session: &Credential, record: &SessionRecord) -> Result<(), Refusal> {
    match record.secret_hash == session.secret_hash() && (app.clock)() < record.expires_at {
        true => Ok(()),
        false => Err(over()),
    }
}

async fn holder(app: &App, record: &SessionRecord) -> Result<Caller, Refusal> {
    let caller = match &record.holder {
        SessionHolder::ApiKey(id) => {
            let key = app.coordinator.storage.api_key(id).await?;
            key.filter(|key| key.is_valid((app.clock)())).map(|key| used(app, key))
        }
        SessionHolder::Person(person) => {
            app.providers.get(&person.provider).map(|_| Caller::person(person.clone()))
        }
    };
    let caller = caller.ok_or_else(over)?;
    let expires_at = caller.expires_at.map_or(record.expires_at, |of_key| of_key.min(record.expires_at));
    Ok(Caller { expires_at: Some(expires_at), ..caller })
}

fn over() -> Refusal {
    Refusal::new(ErrorCode::ApiKeyInvalid, "the session has ended; sign in again")
}

/// Reads the API key or session from the header `Authorization: Bearer ID.SECRET`.
pub fn bearer(headers: &HeaderMap) -> Result<Credential, Refusal> {
    let missing = || {
        Refusal::new(
            ErrorCode::ApiKeyMissing,
            "the API key is missing; send it in the header `authorization: Bearer ID.SECRET`",
        )
    };
    let text = headers.get(header::AUTHORIZATION).ok_or_else(missing)?.to_str().map_err(|_| missing())?;
    let (scheme, key) = text.split_once(' ').ok_or_else(missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(missing());
    }
    key.trim()
        .parse()
        .map_err(|error| Refusal::new(ErrorCode::ApiKeyInvalid, format!("the API key is malformed: {error}")))
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
            for alone in [Role::System, Role::Aggregator] {
                assert!(!may(role, alone) && !may(alone, role), "{}", role.name());
            }
        }
        let of_officer = [Role::Viewer, Role::Operator, Role::PrivacyOfficer, Role::Admin, Role::System]
            .map(|least| may(Role::PrivacyOfficer, least));
        assert_eq!(of_officer, [true, false, true, false, false]);
        assert!(may(Role::Admin, Role::PrivacyOfficer) && !may(Role::Operator, Role::PrivacyOfficer));
        assert!(may(Role::System, Role::System) && may(Role::Aggregator, Role::Aggregator));
        assert!(!may(Role::System, Role::Aggregator) && !may(Role::Aggregator, Role::System));
    }
}
