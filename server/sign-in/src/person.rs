use folkmoot_protocol::{Role, Timestamp};

/// A person whose identity the provider has confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The person's id at the provider. It never changes.
    pub subject: String,
    /// The name to show. The provider may change it.
    pub name: String,
    /// The highest role of the person's groups.
    pub role: Role,
    /// When the session ends at the latest: when the ID token expires, or after the configured duration.
    pub expires_at: Timestamp,
}
