//! Keys of operators, each with a role.

use folkmoot_protocol::{DisplayName, Role, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A key of these endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyView {
    /// Its public part.
    #[schema(value_type = String)]
    pub id: String,
    /// Its name for humans.
    pub name: String,
    /// `viewer`, `operator` or `admin`.
    #[schema(value_type = String)]
    pub role: Role,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A key to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKeyRequest {
    /// A name for humans, 1 to 128 bytes without control characters: who will use it, and for what.
    #[schema(
        value_type = String, min_length = 1, max_length = 128,
        // No character that controls how text is shown, and one that is not space.
        pattern = "^(?!\\s*$)[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]+$"
    )]
    pub name: DisplayName,
    /// `viewer` (see), `operator` (run tasks) or `admin` (hand out keys).
    #[schema(value_type = RoleWord)]
    pub role: Role,
}

/// The roles of a key, as the OpenAPI document lists them.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "the document is made of it, and nothing else")]
enum RoleWord {
    /// See.
    Viewer,
    /// Run tasks.
    Operator,
    /// Hand out keys.
    Admin,
}

/// A key that was made, with its secret. It is shown here and never again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedApiKey {
    /// `ID.SECRET`, as it is sent in the header `authorization: Bearer ID.SECRET`.
    pub api_key: String,
    /// What the list of keys shows.
    pub record: ApiKeyView,
}
