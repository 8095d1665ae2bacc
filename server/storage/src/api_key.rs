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
    /// The last rotation; `None` if there was none.
    pub rotation: Option<KeyRotation>,
    /// When the key was last used, to some minutes; `None` if it was never used, or not since this is recorded.
    pub used_at: Option<Timestamp>,
}

/// A change of a key's secret. The id stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRotation {
    /// When the secret was changed.
    pub at: Timestamp,
    /// SHA-256 of the secret before.
    pub previous_hash: [u8; 32],
    /// When the secret before stops being valid.
    pub previous_until: Timestamp,
}

impl ApiKeyRecord {
    /// Returns whether the key opens anything at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }

    /// Replaces the secret. The one before stays valid until `previous_until`, and one before that is forgotten.
    pub(crate) fn rotated(self, secret_hash: [u8; 32], previous_until: Timestamp, now: Timestamp) -> Self {
        let rotation = KeyRotation { at: now, previous_hash: self.secret_hash, previous_until };
        Self { secret_hash, rotation: Some(rotation), ..self }
    }

    /// Returns whether the secret with this hash opens anything at `now`.
    pub fn accepts(&self, secret_hash: [u8; 32], now: Timestamp) -> bool {
        // These compare hashes of 256 random bits, so the timing of a comparison reveals nothing useful.
        let is_right = self.secret_hash == secret_hash
            || self.previous_until(secret_hash).is_some_and(|until| now < until);
        is_right && self.is_valid(now)
    }

    /// Returns the end of the secret with this hash, if it is the previous one.
    pub fn previous_until(&self, secret_hash: [u8; 32]) -> Option<Timestamp> {
        let rotation = self.rotation.as_ref().filter(|one| one.previous_hash == secret_hash);
        rotation.map(|rotation| rotation.previous_until)
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

    /// Gives a key a new secret. The one before stays valid until `previous_until`, and the sessions that began with it
    /// end then at the latest. Returns the changed key.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such key, or the key was revoked or has expired.
    async fn rotate_api_key(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        secret_hash: [u8; 32],
        previous_until: Timestamp,
        now: Timestamp,
    ) -> Result<ApiKeyRecord, StorageError>;

    /// Records when keys were last used. Earlier times than the recorded ones, and unknown keys, change nothing. A power
    /// failure may undo it.
    async fn record_key_uses(&self, uses: &[(ApiKeyId, Timestamp)]) -> Result<(), StorageError>;
}
