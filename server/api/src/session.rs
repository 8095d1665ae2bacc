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
    /// The public part of the API key that the session was started with. Missing if a person signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_id: Option<String>,
    /// The display name of the session's API key. Missing if a person signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_name: Option<String>,
    /// The person who signed in with an identity provider. Missing if an API key was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonView>,
    /// When the session expires.
    pub expires_at: Timestamp,
}

/// A person who signed in with an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PersonView {
    /// The name of the provider.
    pub provider: String,
    /// The person's id at the provider.
    pub subject: String,
    /// The person's display name.
    pub name: String,
}

/// The next step after a session has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignedOutView {
    /// The address at which the person also signs out at the identity provider.
    pub provider_url: String,
}

/// The identity providers of this coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProvidersView {
    /// The names. To sign in with one, open `/v1/admin/sign-in/NAME` in a browser.
    pub providers: Vec<String>,
}

/// A request to sign in to the console with an API key.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionRequest {
    /// The API key as `ID.SECRET`, as printed by `folkmoot serve` or `folkmoot key create`.
    pub api_key: String,
}
