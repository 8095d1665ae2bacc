use folkmoot_api::session::{PersonView, SessionView};
use folkmoot_rounds::credential::Credential;
use folkmoot_storage::{PersonRecord, SessionRecord};

use crate::http::admin::{access::Caller, cookie, who::Who};

/// Converts a session's record.
pub fn session_view(session: &Credential, record: &SessionRecord, caller: Caller) -> SessionView {
    let (api_key_id, api_key_name, person) = match caller.who {
        Who::ApiKey { id, name } => (Some(id), Some(name), None),
        Who::Person(PersonRecord { provider, subject, name, .. }) => {
            (None, None, Some(PersonView { provider, subject, name }))
        }
    };
    SessionView {
        csrf_token: cookie::token_of(session),
        role: caller.role.name().into(),
        api_key_id,
        api_key_name,
        person,
        expires_at: record.expires_at,
    }
}
