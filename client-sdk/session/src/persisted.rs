use serde::{Deserialize, Serialize};

use crate::Session;

/// The format version that this build writes and reads.
pub const PERSISTED_VERSION: u32 = 1;

/// A stored session cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The bytes are not a stored session.
    #[error("the stored session cannot be read ({0}); set the file aside and start a new session")]
    Malformed(#[from] serde_json::Error),
    /// It was stored by another version.
    #[error(
        "the stored session has version {0}, but this build reads {PERSISTED_VERSION}; start a new session"
    )]
    UnknownVersion(u32),
}

#[derive(Serialize)]
struct Envelope<'a> {
    version: u32,
    session: &'a Session,
}

/// Parsed first, because the format of the rest depends on the version.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
struct OpenedEnvelope {
    session: Session,
}

impl Session {
    /// Serializes the session and its version as JSON.
    pub fn to_json(&self) -> String {
        let envelope = Envelope { version: PERSISTED_VERSION, session: self };
        serde_json::to_string(&envelope).expect("a session has string keys only")
    }

    /// Parses the output of [`Session::to_json`].
    ///
    /// # Errors
    /// [`RestoreError`] if the bytes are not a stored session, or have an unknown version. Start a new session then.
    pub fn from_json(bytes: &[u8]) -> Result<Self, RestoreError> {
        let Version { version } = serde_json::from_slice(bytes)?;
        if version != PERSISTED_VERSION {
            return Err(RestoreError::UnknownVersion(version));
        }
        Ok(serde_json::from_slice::<OpenedEnvelope>(bytes)?.session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for bad in ["", "{}", "null", r#"{"version":1,"session":{}}"#] {
            assert!(matches!(Session::from_json(bad.as_bytes()), Err(RestoreError::Malformed(_))), "{bad}");
        }
        let newer = br#"{"version":2,"session":{"anything":[]}}"#;
        assert!(matches!(Session::from_json(newer), Err(RestoreError::UnknownVersion(2))));
    }
}
