use folkmoot_api::session::{PersonView, SessionView};
use folkmoot_rounds::credential::Credential;
use folkmoot_storage::{PersonRecord, SessionRecord};

use crate::http::admin::{access::Caller, cookie, who::Who};

/// Converts a session's record.
pub fn session_view(session: &Credential, record: &SessionRecord, caller: Caller) -> SessionView {
    let role = caller.role.name().into();
    let (api_key_id, api_key_name, person) = who_view(caller.who);
    let csrf_token = cookie::token_of(session);
    SessionView { csrf_token, role, api_key_id, api_key_name, person, expires_at: record.expires_at }
}

/// Returns the id and the name of a key, or the person.
pub fn who_view(who: Who) -> (Option<String>, Option<String>, Option<PersonView>) {
    match who {
        Who::ApiKey { id, name } => (Some(id), Some(name), None),
        Who::Person(PersonRecord { provider, subject, name, .. }) => {
            (None, None, Some(PersonView { provider, subject, name }))
        }
    }
}
