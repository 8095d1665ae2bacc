//! Finds the thing that a path names: by its id, by the beginning of its id, or by its name.

use folkmoot_coordinator::task::TaskFilter;
use folkmoot_protocol::{BlobDigest, ClientId, DisplayName, ErrorCode, OrganisationId, RoundId, TaskId};
use folkmoot_rounds::{credential::is_id, refusal::Refusal};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, ClientRecord, ModelRecord, ModelRepository, OrganisationRecord,
    SessionRecord, SessionRepository, TaskRecord, TaskRepository, TokenRecord, TokenRepository,
};

use super::access::Caller;
use crate::http::App;

/// The smallest number of characters that stand for an id.
const CHARACTERS_MIN: usize = 4;
/// The largest number of matches that an error lists.
const LISTED_MAX: usize = 5;
/// The largest number of rows that are read for a name.
const ROWS_MAX: u32 = 10_000;
/// The largest number of characters of the path that an error repeats.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// Something that a person can name.
struct Candidate<T> {
    id: String,
    name: Option<String>,
    /// True if it is revoked or closed. Others with the same name take precedence.
    is_over: bool,
    found: T,
}

/// Returns the only candidate that has this name or an id that begins with this text, ignoring case. A name has no
/// precedence over the beginning of an id. Otherwise, a thing could be named like the beginning of another thing's id,
/// and be removed instead.
fn only_one<T>(
    what: &str,
    unknown: ErrorCode,
    text: &str,
    candidates: impl IntoIterator<Item = Candidate<T>>,
) -> Result<T, Refusal> {
    let (shown, beginning) = (shown(text), beginning(text));
    let is_named =
        |one: &Candidate<T>| one.name.as_ref().is_some_and(|name| name.to_lowercase() == text.to_lowercase());
    let begins = |one: &Candidate<T>| !beginning.is_empty() && one.id.starts_with(&beginning);
    let mut matching: Vec<_> = candidates.into_iter().filter(|one| is_named(one) || begins(one)).collect();
    // If several things have the same name, the ones that are over are ignored. An id also finds a thing that is over.
    if matching.iter().filter(|one| !one.is_over).count() == 1 && matching.iter().all(is_named) {
        matching.retain(|one| !one.is_over);
    }
    if matching.len() > 1 {
        let listed = matching.iter().take(LISTED_MAX).map(|one| match &one.name {
            Some(name) => format!("{} ({name})", one.id),
            None => one.id.clone(),
        });
        let listed = listed.collect::<Vec<_>>().join(", ");
        let more = if matching.len() > LISTED_MAX { ", …" } else { "" };
        let detail = format!(
            "{} match `{shown}`: {listed}{more}; give the id, or enough of its beginning",
            match matching.len() {
                2 => format!("two {what}s"),
                count => format!("{count} {what}s"),
            }
        );
        return Err(Refusal::new(unknown, detail));
    }
    matching.pop().map(|one| one.found).ok_or_else(|| {
        Refusal::new(
            unknown,
            format!("there is no {what} {shown}; give a name, an id, or at least {CHARACTERS_MIN} characters of an id"),
        )
    })
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS_MAX).collect()
}

/// Returns the text in lower case if it can be the beginning of an id; otherwise an empty text.
fn beginning(text: &str) -> String {
    let is_of_id = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    match text.len() >= CHARACTERS_MIN && text.chars().all(is_of_id) {
        true => text.to_lowercase(),
        false => String::new(),
    }
}

/// Finds a task of the caller's organisation.
pub async fn task(app: &App, caller: &Caller, text: &str) -> Result<TaskRecord, Refusal> {
    let (storage, organisation) = (&app.coordinator.storage, caller.organisation_id);
    if let Ok(id) = text.parse::<TaskId>() {
        let found = storage.task(organisation, id).await?;
        return found.ok_or_else(|| Refusal::new(ErrorCode::TaskUnknown, format!("there is no task {id}")));
    }
    // No task has such a name, and some databases reject a search for it.
    if DisplayName::check(text).is_err() {
        return only_one("task", ErrorCode::TaskUnknown, &shown(text), []);
    }
    let filter = TaskFilter { called: Some(text.to_owned()), ..TaskFilter::default() };
    let tasks = storage.tasks(organisation, &filter, ROWS_MAX, None).await?;
    let candidate = |task: TaskRecord| Candidate {
        id: task.id.to_string(),
        name: Some(task.description.name.to_string()),
        is_over: false,
        found: task,
    };
    only_one("task", ErrorCode::TaskUnknown, text, tasks.into_iter().map(candidate))
}

/// Finds a round of the caller's organisation. Rounds have no names.
pub async fn round_id(app: &App, caller: &Caller, text: &str) -> Result<RoundId, Refusal> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let database = app.coordinator.storage.database()?;
    let rounds = database.rounds_called(caller.organisation_id, &beginning(text), ROWS_MAX).await?;
    let candidate = |id: RoundId| Candidate { id: id.to_string(), name: None, is_over: false, found: id };
    only_one("round", ErrorCode::RoundUnknown, text, rounds.into_iter().map(candidate))
}

/// Finds a client of the caller's organisation. Only sites have names.
pub async fn client_id(app: &App, caller: &Caller, text: &str) -> Result<ClientId, Refusal> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    if DisplayName::check(text).is_err() {
        return only_one("client", ErrorCode::ResourceUnknown, &shown(text), []);
    }
    let database = app.coordinator.storage.database()?;
    let clients = database.clients_called(caller.organisation_id, &beginning(text), text, ROWS_MAX).await?;
    let candidate = |client: ClientRecord| Candidate {
        id: client.id.to_string(),
        name: client.site,
        is_over: client.revoked_at.is_some(),
        found: client.id,
    };
    only_one("client", ErrorCode::ResourceUnknown, text, clients.into_iter().map(candidate))
}

/// Finds an enrolment token of the caller's organisation, and returns its id.
pub async fn token_id(app: &App, caller: &Caller, text: &str) -> Result<String, Refusal> {
    if is_id(text) {
        return Ok(text.to_owned());
    }
    let tokens = app.coordinator.storage.tokens(caller.organisation_id).await?;
    let candidate = |token: TokenRecord| Candidate {
        id: token.id.clone(),
        name: token.name,
        is_over: token.revoked_at.is_some(),
        found: token.id,
    };
    only_one("token", ErrorCode::ResourceUnknown, text, tokens.into_iter().map(candidate))
}

/// Finds an API key of the caller's organisation, and returns its id.
pub async fn api_key_id(app: &App, caller: &Caller, text: &str) -> Result<String, Refusal> {
    if is_id(text) {
        return Ok(text.to_owned());
    }
    let keys = app.coordinator.storage.api_keys(caller.organisation_id).await?;
    let candidate = |key: ApiKeyRecord| Candidate {
        id: key.id.clone(),
        name: Some(key.name),
        is_over: key.revoked_at.is_some(),
        found: key.id,
    };
    only_one("API key", ErrorCode::ResourceUnknown, text, keys.into_iter().map(candidate))
}

/// Finds an open session of the caller's organisation, and returns its id. Sessions have no names.
pub async fn session_id(app: &App, caller: &Caller, text: &str) -> Result<String, Refusal> {
    if is_id(text) {
        return Ok(text.to_owned());
    }
    let sessions = app.coordinator.storage.open_sessions(caller.organisation_id, (app.clock)(), ROWS_MAX);
    let candidate = |session: SessionRecord| Candidate {
        id: session.id.clone(),
        name: None,
        is_over: false,
        found: session.id,
    };
    only_one("session", ErrorCode::ResourceUnknown, text, sessions.await?.into_iter().map(candidate))
}

/// Finds a model of the caller's organisation, and returns its digest.
pub async fn model(app: &App, caller: &Caller, text: &str) -> Result<BlobDigest, Refusal> {
    if let Ok(digest) = text.parse() {
        return Ok(digest);
    }
    let models = app.coordinator.storage.models(caller.organisation_id, ROWS_MAX).await?;
    let candidate = |model: ModelRecord| Candidate {
        id: model.model.to_string(),
        name: model.name,
        is_over: false,
        found: model.model,
    };
    only_one("model", ErrorCode::ResourceUnknown, text, models.into_iter().map(candidate))
}

/// Finds an organisation for a system administrator.
pub async fn organisation_id(app: &App, text: &str) -> Result<OrganisationId, Refusal> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let organisations = app.coordinator.storage.database()?.organisations().await?;
    let candidate = |organisation: OrganisationRecord| Candidate {
        id: organisation.id.to_string(),
        name: Some(organisation.name),
        is_over: organisation.closed_at.is_some(),
        found: organisation.id,
    };
    only_one("organisation", ErrorCode::ResourceUnknown, text, organisations.into_iter().map(candidate))
}
