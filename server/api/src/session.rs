//! Console sessions.

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The current session of the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// The token against cross-site request forgery. Every request except GET must send it in the header
    /// `x-folkmoot-csrf`. Pages of other origins cannot read it.
    pub csrf_token: String,
    /// `viewer`, `operator` or `admin`.
    pub role: String,
    /// The public part of the API key that the session was started with.
    pub api_key_id: String,
    /// The display name of the session's API key.
    pub api_key_name: String,
    /// When the session expires.
    pub expires_at: Timestamp,
}

/// A request to sign in to the console.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionRequest {
    /// The API key as `ID.SECRET`, as printed by `folkmoot serve` or `folkmoot key create`.
    pub api_key: String,
}
