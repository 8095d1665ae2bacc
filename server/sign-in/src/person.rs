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
    /// The latest end of the session: after the configured duration or, without a renewal, when the ID token expires.
    pub expires_at: Timestamp,
    /// The next question to the provider; `None` if the provider gave no refresh token.
    pub renewal: Option<Renewal>,
}

/// The next question to a provider for a person's groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The time of the question: after the configured interval, or when the ID token expires.
    pub at: Timestamp,
    /// When the ID token expires. Until then, the provider confirms the person.
    pub confirmed_until: Timestamp,
    /// The token for the request.
    pub token: RefreshToken,
}
