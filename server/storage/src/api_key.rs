use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, Role, Timestamp};

use crate::StorageError;

/// The public part of an API key, safe to show and to log: 16 hexadecimal digits.
pub type ApiKeyId = String;

/// An API key. Only the secret's hash is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyRecord {
    /// The public part.
    pub id: ApiKeyId,
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// A name for humans.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// SHA-256 of the secret, which has 256 random bits, so that no slow hash is needed.
    pub secret_hash: [u8; 32],
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// API keys.
#[async_trait]
pub trait ApiKeyRepository {
    /// Stores a new key.
    async fn create_api_key(&self, key: &ApiKeyRecord) -> Result<(), StorageError>;

    /// Finds a key by its public part, in any organisation, revoked or not.
    async fn api_key(&self, id: &str) -> Result<Option<ApiKeyRecord>, StorageError>;

    /// Lists the organisation's keys, oldest first.
    async fn api_keys(&self, organisation_id: OrganisationId) -> Result<Vec<ApiKeyRecord>, StorageError>;

    /// Revokes a key; one that is revoked already stays as it is. Of the keys of admins one stays, also where several are
    /// revoked at the same time.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such key, [`StorageError::LastAdminKey`] if no other key of an
    /// admin is left.
    async fn revoke_api_key(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError>;
}
