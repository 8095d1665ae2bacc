//! Secrets that are shown once and stored only as a hash: enrolment tokens and API keys.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

/// A secret with a public id. Its text form is `id.secret`, both hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The public id, 16 hexadecimal digits.
    pub id: String,
    secret: String,
}

impl Credential {
    /// Creates a credential from random bytes.
    pub fn from_random_bytes(id: [u8; 8], secret: [u8; 32]) -> Self {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { id: hex(&id), secret: hex(&secret) }
    }

    /// Returns the secret. Only encryption with a key that is derived from it needs this.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns the SHA-256 hash of the secret. The coordinator stores the hash instead of the secret.
    pub fn secret_hash(&self) -> [u8; 32] {
        Sha256::digest(self.secret.as_bytes()).into()
    }
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.id, self.secret)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({}.…)", self.id)
    }
}

/// Returns whether a text has the form of a credential's public id. No credential has an id of another form.
pub fn is_id(text: &str) -> bool {
    text.len() == 16 && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The error for a text that is not a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it must have the form ID.SECRET, with 16 and 64 hexadecimal digits")]
pub struct MalformedCredentialError;

impl FromStr for Credential {
    type Err = MalformedCredentialError;

    fn from_str(text: &str) -> Result<Self, MalformedCredentialError> {
        match text.split_once('.') {
            Some((id, secret)) if is_id(id) && secret.len() == 64 && is_hex(secret) => {
                Ok(Self { id: id.into(), secret: secret.into() })
            }
            _ => Err(MalformedCredentialError),
        }
    }
}
