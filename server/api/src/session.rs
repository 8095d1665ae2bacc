//! Sessions of the console and of people on the command line.

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The current session of the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// The token against cross-site request forgery. Every request except GET must send it in the header
    /// `x-folkmoot-csrf`. Pages of other origins cannot read it.
    pub csrf_token: String,
    /// `viewer`, `operator`, `privacy_officer` or `admin`.
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

/// An open session of the console or the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenSessionView {
    /// The public part of the session: 16 hexadecimal digits.
    pub id: String,
    /// `viewer`, `operator`, `privacy_officer` or `admin`.
    pub role: String,
    /// The public part of the API key that the session was started with; null if a person signed in.
    pub api_key_id: Option<String>,
    /// The display name of the session's API key; null if a person signed in.
    pub api_key_name: Option<String>,
    /// The person who signed in with an identity provider; null if an API key was used.
    pub person: Option<PersonView>,
    /// When the holder signed in.
    pub created_at: Timestamp,
    /// When the session was last used, up to five minutes out of date; null if it was not used yet.
    pub last_used_at: Option<Timestamp>,
    /// When the session expires.
    pub expires_at: Timestamp,
}

/// A request to end all sessions of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndSessionsRequest {
    /// The name of the identity provider.
    pub provider: String,
    /// The person's id at the provider.
    pub subject: String,
}

/// The end of a person's sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndedSessionsView {
    /// The number of sessions that ended.
    pub ended: u64,
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

/// The holder of the API key or session that a request contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallerView {
    /// `viewer`, `operator`, `privacy_officer`, `admin` or `system`.
    pub role: String,
    /// The name of the organisation.
    pub organisation: String,
    /// The public part of the API key. Missing if a person signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_id: Option<String>,
    /// The display name of the API key. Missing if a person signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_name: Option<String>,
    /// The person who signed in with an identity provider. Missing if an API key is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonView>,
    /// When the key or session expires. Missing if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A sign-in that a person finishes in a browser on any machine (RFC 8628).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceSignInView {
    /// The secret to ask for the result with.
    pub device_code: String,
    /// The code that the person enters in the browser.
    pub user_code: String,
    /// The address at which the person enters the code.
    pub verification_uri: String,
    /// The same address with the code. Missing if the identity provider has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_uri_complete: Option<String>,
    /// The time in which the person must finish, in seconds.
    pub expires_in_seconds: u64,
    /// The time to wait between two requests for the result, in seconds.
    pub interval_seconds: u64,
}

/// A request for the result of a sign-in.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceSignInRequest {
    /// The `device_code` of the sign-in: 1 to 4,096 bytes.
    #[schema(min_length = 1, max_length = 4096)]
    pub device_code: String,
}

/// The state of a sign-in that a person finishes in a browser.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum DeviceSignInState {
    /// The person has not finished yet. Ask again after the interval.
    Pending,
    /// The person has not finished yet. Wait 5 seconds longer between requests from now on.
    SlowDown,
    /// The person has signed in.
    SignedIn {
        /// The session as `ID.SECRET`. Send it like an API key. It is shown only once.
        session: String,
        /// When the session expires.
        expires_at: Timestamp,
        /// The person.
        person: PersonView,
        /// `viewer`, `operator`, `privacy_officer` or `admin`.
        role: String,
        /// The name of the organisation.
        organisation: String,
    },
}
