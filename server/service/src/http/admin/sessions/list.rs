use std::collections::BTreeMap;

use axum::{Extension, Json, extract::State};
use folkmoot_api::session::OpenSessionView;
use folkmoot_protocol::Problem;
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository, SessionHolder, SessionRecord, SessionRepository};

use crate::http::{
    App,
    admin::{access::Caller, session::view::who_view, who::Who},
    problem::Refused,
};

/// The maximum number of sessions that are listed.
const LISTED_MAX: u32 = 1_000;

/// Lists the open sessions of the organisation's keys and people, newest first, at most 1,000.
#[utoipa::path(
    get, path = "/v1/admin/sessions", tag = "session", security(("api_key" = ["admin"])),
    responses(
        (status = 200, body = [OpenSessionView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_sessions(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<OpenSessionView>>, Refused> {
    let (storage, organisation) = (&app.coordinator.storage, caller.organisation_id);
    let keys = storage.api_keys(organisation).await?;
    let keys: BTreeMap<String, ApiKeyRecord> = keys.into_iter().map(|key| (key.id.clone(), key)).collect();
    let sessions = storage.open_sessions(organisation, (app.clock)(), LISTED_MAX).await?;
    Ok(Json(sessions.into_iter().filter_map(|session| view(session, &keys)).collect()))
}

/// Converts a session's record. Returns `None` if its key is not among `keys`, because it was created only now.
fn view(session: SessionRecord, keys: &BTreeMap<String, ApiKeyRecord>) -> Option<OpenSessionView> {
    let (role, who) = match session.holder {
        SessionHolder::ApiKey(id) => {
            let key = keys.get(&id)?;
            (key.role, Who::ApiKey { id, name: key.name.clone() })
        }
        SessionHolder::Person(person) => (person.role, Who::Person(person)),
    };
    let (api_key_id, api_key_name, person) = who_view(who);
    Some(OpenSessionView {
        id: session.id,
        role: role.name().into(),
        api_key_id,
        api_key_name,
        person,
        created_at: session.created_at,
        last_used_at: session.used_at,
        expires_at: session.expires_at,
    })
}
