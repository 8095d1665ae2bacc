use std::fmt;

use folkmoot_storage::{ApiKeyId, PersonRecord};

/// The sender of a request. Logs and the audit log name it by its text: `key 0123456789abcdef` or
/// `oidc:PROVIDER:SUBJECT (NAME)`.
#[derive(Clone, Debug)]
pub enum Who {
    /// An API key.
    ApiKey {
        /// The public id.
        id: ApiKeyId,
        /// The display name.
        name: String,
    },
    /// A person whom an identity provider confirmed.
    Person(PersonRecord),
}

impl Who {
    /// Returns whether this is the key with the public id `id`.
    pub fn is_key(&self, id: &str) -> bool {
        matches!(self, Who::ApiKey { id: own, .. } if own == id)
    }

    /// Returns whether this is a person.
    pub fn is_person(&self) -> bool {
        matches!(self, Who::Person(_))
    }

    /// Returns the author that a ledger names: the id of a key alone, because the ledgers of old versions have it.
    pub fn in_ledger(&self) -> String {
        match self {
            Who::ApiKey { id, .. } => id.clone(),
            Who::Person(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::ApiKey { id, .. } => write!(f, "key {id}"),
            Who::Person(person) => f.write_str(&person_text(&person.provider, &person.subject, &person.name)),
        }
    }
}

/// Returns the name of a person in the audit log.
pub fn person_text(provider: &str, subject: &str, name: &str) -> String {
    format!("oidc:{provider}:{subject} ({name})")
}
