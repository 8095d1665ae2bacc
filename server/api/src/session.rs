//! Sessions of the console.

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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

/// Who wants to sign in.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionRequest {
    /// `ID.SECRET`, as `folkmoot serve` or `folkmoot key create` printed it.
    pub api_key: String,
}
