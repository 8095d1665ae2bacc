use async_trait::async_trait;
use folkmoot_protocol::Timestamp;

use crate::{ApiKeyId, StorageError};

/// The public part of a session: 16 hexadecimal digits.
pub type SessionId = String;

/// Someone who signed in with an API key and is known by a cookie. Only the secret's hash is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// The public part.
    pub id: SessionId,
    /// The key with which they signed in: the session may do what the key may, and ends with it.
    pub api_key_id: ApiKeyId,
    /// SHA-256 of the secret, which has 256 random bits.
    pub secret_hash: [u8; 32],
    /// When they signed in.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

/// Sessions.
#[async_trait]
pub trait SessionRepository {
    /// Stores a new session, and deletes those that ended before it began.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such API key, [`StorageError::NameTaken`] if the id is there already.
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError>;

    /// Finds a session, over or not.
    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StorageError>;

    /// Deletes a session, if it is there.
    async fn delete_session(&self, id: &str) -> Result<(), StorageError>;
}
