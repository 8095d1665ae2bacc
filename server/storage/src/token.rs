use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, PopulationName, Timestamp, UserKey};

use crate::{ClientRecord, EnrolOutcome, StorageError, TokenId};

/// A right to enrol clients for a population. Only the secret's hash is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// The public part.
    pub id: TokenId,
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// The population for which it enrols.
    pub population: PopulationName,
    /// SHA-256 of the secret, which has 256 random bits, so that no slow hash is needed.
    pub secret_hash: [u8; 32],
    /// Whose devices it enrols, where that is known.
    pub user_key: Option<UserKey>,
    /// How many clients it may enrol; `None` for any number.
    pub uses_max: Option<u64>,
    /// How many it has enrolled.
    pub uses: u64,
    /// When it ends; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// When it was closed to new clients, because one that had enrolled with it was revoked.
    pub closed_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl TokenRecord {
    /// Says what becomes of an enrolment with a key that is enrolled already.
    pub(crate) fn known(&self, client: ClientRecord) -> EnrolOutcome {
        // Who enrolled before users were named is nobody else's.
        match (self.user_key, client.user_key) {
            (Some(named), Some(first)) if named != first => EnrolOutcome::UserDiffers,
            _ => EnrolOutcome::Known(client),
        }
    }
}

/// Enrolment tokens.
#[async_trait]
pub trait TokenRepository {
    /// Stores a new token.
    async fn create_token(&self, token: &TokenRecord) -> Result<(), StorageError>;

    /// Finds a token by its public part, in any organisation: an enrolling client knows no other name.
    async fn token(&self, id: &str) -> Result<Option<TokenRecord>, StorageError>;

    /// Lists the organisation's tokens, oldest first.
    async fn tokens(&self, organisation_id: OrganisationId) -> Result<Vec<TokenRecord>, StorageError>;

    /// Revokes a token; one that is revoked already stays as it is.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such token.
    async fn revoke_token(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError>;

    /// Revokes a token and every client that has enrolled with it, in one transaction: no enrolment that races with it leaves
    /// a client behind. Returns how many clients were revoked that were not before.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such token.
    async fn revoke_token_and_clients(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<u64, StorageError>;
}
