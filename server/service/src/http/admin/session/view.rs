use folkmoot_api::session::SessionView;
use folkmoot_rounds::credential::Credential;
use folkmoot_storage::{ApiKeyRecord, SessionRecord};

use crate::http::admin::cookie;

/// Converts a session's record.
pub fn session_view(session: &Credential, record: &SessionRecord, key: ApiKeyRecord) -> SessionView {
    SessionView {
        csrf_token: cookie::token_of(session),
        role: key.role.name().into(),
        api_key_id: key.id,
        api_key_name: key.name,
        expires_at: record.expires_at,
    }
}
