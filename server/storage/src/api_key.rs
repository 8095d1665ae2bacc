use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, Role, Timestamp};

use crate::StorageError;

/// The public part of an API key, safe to show and to log: 16 hexadecimal digits.
pub type ApiKeyId = String;

/// An API key. The secret is stored only as a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyRecord {
    /// The public part.
    pub id: ApiKeyId,
    /// The organisation that the key belongs to.
    pub organisation_id: OrganisationId,
    /// The display name.
    pub name: String,
    /// The permissions of the key.
    pub role: Role,
    /// SHA-256 of the secret. The secret has 256 random bits, so no slow hash is needed.
    pub secret_hash: [u8; 32],
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key stops being valid; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// When the key was revoked; `None` if it is valid.
    pub revoked_at: Option<Timestamp>,
}

impl ApiKeyRecord {
    /// Returns whether the key opens anything at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
}

/// Stores API keys.
#[async_trait]
pub trait ApiKeyRepository {
    /// Stores a new key.
    ///
    /// # Errors
    /// [`StorageError::OrganisationClosed`] if the organisation is closed.
    async fn create_api_key(&self, key: &ApiKeyRecord) -> Result<(), StorageError>;

    /// Finds a key by its public part, in any organisation, revoked or not.
    async fn api_key(&self, id: &str) -> Result<Option<ApiKeyRecord>, StorageError>;

    /// Lists the organisation's keys, oldest first.
    async fn api_keys(&self, organisation_id: OrganisationId) -> Result<Vec<ApiKeyRecord>, StorageError>;

    /// Revokes a key. A key that is already revoked does not change. At least one admin key that never expires
    /// always remains, even if several keys are revoked at the same time.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such key, [`StorageError::LastAdminKey`] if no other
    /// admin key would remain.
    async fn revoke_api_key(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError>;
}
