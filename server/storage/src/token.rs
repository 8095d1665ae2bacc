use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, PopulationName, Timestamp, UserKey};

use crate::{ClientRecord, EnrolOutcome, StorageError, TokenId};

/// The right to enrol clients for a population. The secret is stored only as a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// The public part.
    pub id: TokenId,
    /// The display name. In a population of sites, it is the name of the site whose client enrols with the token.
    pub name: Option<String>,
    /// The organisation of the population.
    pub organisation_id: OrganisationId,
    /// The population in which the token enrols clients.
    pub population: PopulationName,
    /// SHA-256 of the secret. The secret has 256 random bits, so no slow hash is needed.
    pub secret_hash: [u8; 32],
    /// The public keys, as PEM, of JWTs that enrol clients in the place of the secret. If there are any, the secret is
    /// unknown to everybody.
    pub jwt_keys: Vec<String>,
    /// The user whose devices the token enrols; `None` if the token names no user.
    pub user_key: Option<UserKey>,
    /// The maximum number of clients that the token may enrol; `None` for no limit.
    pub uses_max: Option<u64>,
    /// The number of clients that the token has enrolled.
    pub uses: u64,
    /// When the token expires; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// When the token was closed to new clients, because a client that enrolled with it was revoked; `None` if it is
    /// open.
    pub closed_at: Option<Timestamp>,
    /// When the token was revoked; `None` if it was not.
    pub revoked_at: Option<Timestamp>,
    /// When the token was created.
    pub created_at: Timestamp,
}

impl TokenRecord {
    /// Creates the record of a token that enrols any number of clients of no particular user and never expires.
    ///
    /// Its `secret_hash` is all zeros, which is the hash of no known secret. So only code that skips the check of the
    /// secret can use the token.
    pub fn unlimited(
        id: impl Into<TokenId>,
        organisation_id: OrganisationId,
        population: PopulationName,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id: id.into(),
            name: None,
            organisation_id,
            population,
            secret_hash: [0; 32],
            jwt_keys: Vec::new(),
            user_key: None,
            uses_max: None,
            uses: 0,
            expires_at: None,
            closed_at: None,
            revoked_at: None,
            created_at,
        }
    }

    /// Returns the outcome of an enrolment if the key is already enrolled as `client`.
    pub(crate) fn known(&self, client: ClientRecord) -> EnrolOutcome {
        // A client without a user enrolled before tokens named users, so it matches any user.
        match (self.user_key, client.user_key) {
            (Some(named), Some(first)) if named != first => EnrolOutcome::UserDiffers,
            _ => EnrolOutcome::Known(client),
        }
    }
}

/// Stores enrolment tokens.
#[async_trait]
pub trait TokenRepository {
    /// Stores a new token.
    ///
    /// # Errors
    /// [`StorageError::OrganisationClosed`] if the organisation is closed.
    async fn create_token(&self, token: &TokenRecord) -> Result<(), StorageError>;

    /// Finds a token by its public part, in any organisation: an enrolling client knows only its token.
    async fn token(&self, id: &str) -> Result<Option<TokenRecord>, StorageError>;

    /// Lists the organisation's tokens, oldest first.
    async fn tokens(&self, organisation_id: OrganisationId) -> Result<Vec<TokenRecord>, StorageError>;

    /// Revokes a token. A token that is already revoked does not change.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such token.
    async fn revoke_token(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError>;

    /// Revokes a token and all clients that enrolled with it, in one transaction. A concurrent enrolment cannot escape
    /// the revocation. Returns the number of newly revoked clients.
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
