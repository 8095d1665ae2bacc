use folkmoot_protocol::Timestamp;
use folkmoot_storage::{ApiKeyRecord, SessionRecord};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cookie;
use crate::{credential::Credential, http::admin::access::role_name};

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// What the header `x-folkmoot-csrf` of every request but GET has to say: a page of another origin cannot know it.
    pub csrf_token: String,
    /// `viewer`, `operator` or `admin`.
    pub role: String,
    /// The public part of the key with which the session began.
    pub api_key_id: String,
    /// That key's name for humans.
    pub api_key_name: String,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

impl SessionView {
    /// Shows a session.
    pub fn of(session: &Credential, record: &SessionRecord, key: ApiKeyRecord) -> Self {
        Self {
            csrf_token: cookie::token_of(session),
            role: role_name(key.role).into(),
            api_key_id: key.id,
            api_key_name: key.name,
            expires_at: record.expires_at,
        }
    }
}
