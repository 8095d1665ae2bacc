use async_trait::async_trait;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp, UserKey};

use crate::{StorageError, TokenId};

/// One enrolled install of the SDK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRecord {
    /// Its id.
    pub id: ClientId,
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// Its population.
    pub population: PopulationName,
    /// Its Ed25519 public key, in base64, as it enrolled with it.
    pub public_key: String,
    /// The token with which it enrolled first; `None` if that was before lineage was stored.
    pub token_id: Option<TokenId>,
    /// Whose device it is, where that is known.
    pub user_key: Option<UserKey>,
    /// When it enrolled.
    pub enrolled_at: Timestamp,
    /// When its key was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// What became of an enrolment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnrolOutcome {
    /// The client is new, and one use of the token is spent.
    Enrolled(ClientRecord),
    /// The same key had enrolled in this population before: its record, no use spent.
    Known(ClientRecord),
    /// The token has expired.
    TokenExpired,
    /// The token was used as often as it may be.
    TokenExhausted,
    /// The token enrols nobody new, because a client that had enrolled with it was revoked.
    TokenClosed,
    /// The population's unit of privacy is the user, and the token names none.
    UserMissing,
    /// The same key had enrolled before, for another user than the token's.
    UserDiffers,
    /// The token was revoked, or there is none of this id.
    TokenInvalid,
}

/// What becomes of the token of a client that is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenAfter {
    /// It enrols nobody new: the device may still have it, and can make any number of keys.
    Closed,
    /// It enrols as before.
    Open,
}

/// Clients.
#[async_trait]
pub trait ClientRepository {
    /// Enrols a client by a token whose secret the caller has verified, in one transaction: two clients that
    /// race for a token's last use do not both get it. A known key is recognised before the token's expiry and
    /// uses are looked at, and before its closing (a lost answer must be repeatable), but not on a revoked or unknown
    /// token.
    async fn enrol(
        &self,
        token_id: &str,
        public_key: &str,
        id_if_new: ClientId,
        now: Timestamp,
    ) -> Result<EnrolOutcome, StorageError>;

    /// Finds a client, in any organisation: its id is all that a request shows.
    async fn client(&self, id: ClientId) -> Result<Option<ClientRecord>, StorageError>;

    /// Counts the population's clients whose key is not revoked.
    async fn client_count(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<u64, StorageError>;

    /// Says whether the population has at least `count` clients whose key is not revoked. It counts no further.
    async fn has_clients(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        count: u64,
    ) -> Result<bool, StorageError>;

    /// Lists the clients that enrolled with the organisation's token, the newest first: at most `limit`, those before `before`.
    async fn clients_of_token(
        &self,
        organisation_id: OrganisationId,
        token_id: &str,
        limit: u32,
        before: Option<ClientId>,
    ) -> Result<Vec<ClientRecord>, StorageError>;

    /// Revokes a client's key and, if so asked, closes the token with which it enrolled, in one transaction. What is revoked or
    /// closed already stays as it is. Returns the client.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such client.
    async fn revoke_client(
        &self,
        organisation_id: OrganisationId,
        id: ClientId,
        token: TokenAfter,
        now: Timestamp,
    ) -> Result<ClientRecord, StorageError>;
}
