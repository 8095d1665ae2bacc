use folkmoot_protocol::{Role, Timestamp};

use crate::RefreshToken;

/// A person whose identity the provider has confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The person's id at the provider. It never changes.
    pub subject: String,
    /// The name to show. The provider may change it.
    pub name: String,
    /// The highest role of the person's groups.
    pub role: Role,
    /// When the session ends at the latest: after the configured duration. Without a renewal, also when the ID token
    /// expires.
    pub expires_at: Timestamp,
    /// The next question to the provider; `None` if the provider gave no refresh token.
    pub renewal: Option<Renewal>,
}

/// The next question to a provider for a person's groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// When to ask: after the configured interval, or when the ID token expires.
    pub at: Timestamp,
    /// When the ID token expires. Until then, the provider confirms the person.
    pub confirmed_until: Timestamp,
    /// The token for the request.
    pub token: RefreshToken,
}
