use async_trait::async_trait;
use folkmoot_protocol::Timestamp;

use crate::{ApiKeyId, StorageError};

/// The public part of a session: 16 hexadecimal digits.
pub type SessionId = String;

/// A session of a person who signed in to the console with an API key. A cookie identifies it. The secret is stored
/// only as a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// The public part.
    pub id: SessionId,
    /// The API key used to sign in. The session has the key's permissions and ends when the key is revoked.
    pub api_key_id: ApiKeyId,
    /// SHA-256 of the secret. The secret has 256 random bits, so no slow hash is needed.
    pub secret_hash: [u8; 32],
    /// When the person signed in.
    pub created_at: Timestamp,
    /// When the session expires.
    pub expires_at: Timestamp,
}

/// Stores console sessions.
#[async_trait]
pub trait SessionRepository {
    /// Stores a new session. Deletes all sessions that had expired before the new one began.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such API key, [`StorageError::NameTaken`] if the id is already
    /// in use.
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError>;

    /// Finds a session, even if it has expired.
    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StorageError>;

    /// Deletes a session, if it exists.
    async fn delete_session(&self, id: &str) -> Result<(), StorageError>;
}
