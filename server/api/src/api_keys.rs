//! API keys of operators, each with a role.

use folkmoot_protocol::{Count, DisplayName, Role, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An API key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyView {
    /// The public part of the key.
    #[schema(value_type = String)]
    pub id: String,
    /// A display name.
    pub name: String,
    /// `viewer`, `operator`, `privacy_officer`, `admin` or `aggregator`.
    #[schema(value_type = String)]
    pub role: Role,
    /// When the key stops being valid; null for never.
    pub expires_at: Option<Timestamp>,
    /// When the key was revoked; null if it was not.
    pub revoked_at: Option<Timestamp>,
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key was last used, up to five minutes out of date. Null if it was not used yet.
    pub last_used_at: Option<Timestamp>,
    /// When the key got its current secret; null if it still has the first one.
    pub rotated_at: Option<Timestamp>,
    /// When the secret before the last rotation stopped or stops being valid; null if the key was never rotated.
    pub previous_valid_until: Option<Timestamp>,
}

/// The time, in seconds, for which an old secret stays valid unless the request says otherwise: one day.
pub const OVERLAP_SECONDS: u64 = 86_400;
/// The longest time, in seconds, for which a request can keep an old secret valid: 30 days.
pub const OVERLAP_SECONDS_MAX: u64 = 30 * 86_400;

/// A request to give an API key a new secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateApiKeyRequest {
    /// The time for which the old secret stays valid, in seconds: 0 to 2,592,000 (30 days). Default: 86,400 (one day). Use 0 if
    /// somebody else may have the secret.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[schema(maximum = 2_592_000_u64)]
    pub overlap_seconds: Option<u64>,
}

/// A request to create an API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKeyRequest {
    /// A display name, 1 to 128 bytes without control characters. Say who uses the key and for what.
    #[schema(
        value_type = String, min_length = 1, max_length = 128,
        // No control or bidirectional formatting characters, and at least one character that is not white space.
        pattern = "^(?!\\s*$)[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]+$"
    )]
    pub name: DisplayName,
    /// `viewer` (may read), `operator` (may also run tasks), `privacy_officer` (may read, and weaken promises of privacy),
    /// `admin` (may do what an operator may, and manage API keys, clients and privacy settings) or `aggregator` (may sum
    /// updates, as an edge aggregator).
    #[schema(value_type = RoleWord)]
    pub role: Role,
    /// The lifetime in seconds, 1 to 3,153,600,000 (100 years). Without it the key is valid until it is revoked. The last
    /// admin key that never expires cannot be revoked.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[schema(minimum = 1, maximum = 3_153_600_000_u64)]
    pub expires_in_seconds: Option<u64>,
}

/// The roles of a key, as the OpenAPI document lists them.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "only the OpenAPI document uses it")]
enum RoleWord {
    /// May read.
    Viewer,
    /// May also run tasks.
    Operator,
    /// May read, and weaken promises of privacy.
    PrivacyOfficer,
    /// May do what an operator may, and manage API keys, clients and privacy settings.
    Admin,
    /// May sum updates, as an edge aggregator.
    Aggregator,
}

/// An API key with its new secret. The secret is returned only in this response.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedApiKey {
    /// The key as `ID.SECRET`. Send it in the header `authorization: Bearer ID.SECRET`.
    pub api_key: String,
    /// The key's public data, as in the list of keys.
    pub record: ApiKeyView,
}
