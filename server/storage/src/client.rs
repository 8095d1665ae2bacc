use async_trait::async_trait;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp, UserKey};

use crate::{StorageError, TokenId};

/// One enrolled install of the SDK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRecord {
    /// The client's id.
    pub id: ClientId,
    /// The client's organisation.
    pub organisation_id: OrganisationId,
    /// The client's population.
    pub population: PopulationName,
    /// The client's Ed25519 public key in base64, exactly as the client sent it when enrolling.
    pub public_key: String,
    /// The token with which the client first enrolled. `None` if it enrolled before tokens were recorded.
    pub token_id: Option<TokenId>,
    /// The user who owns the device, if known.
    pub user_key: Option<UserKey>,
    /// The name of the client's site. `None` in a crowd.
    pub site: Option<String>,
    /// When the client enrolled.
    pub enrolled_at: Timestamp,
    /// When the client's key was revoked; `None` if it is valid.
    pub revoked_at: Option<Timestamp>,
}

/// The result of an enrolment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnrolOutcome {
    /// A new client was enrolled, and the token was used once.
    Enrolled(ClientRecord),
    /// The key was enrolled in this population before. The token was not used.
    Known(ClientRecord),
    /// The token has expired.
    TokenExpired,
    /// The token has no uses left.
    TokenExhausted,
    /// The organisation has as many clients as its quota permits.
    OrganisationFull,
    /// The token enrols no new clients, because a client that enrolled with it was revoked.
    TokenClosed,
    /// The population's unit of privacy is the user, but the token names no user.
    UserMissing,
    /// The key was enrolled before, for a different user than the token's.
    UserDiffers,
    /// The population consists of sites, but the token has no name.
    SiteMissing,
    /// The population has as many sites as are permitted.
    SitesFull,
    /// The token was revoked or does not exist.
    TokenInvalid,
}

/// The effect of a client's revocation on the token with which it enrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenAfter {
    /// The token enrols no new clients. The revoked device may still have the token, and could use it with a new key.
    Closed,
    /// The token remains valid.
    Open,
}

/// Stores clients.
#[async_trait]
pub trait ClientRepository {
    /// Enrols a client with a token whose secret the caller has verified, in one transaction. If two clients race for
    /// the last use of a token, only one is enrolled.
    ///
    /// If the key is already enrolled, the result is `Known` or `UserDiffers`, even if the token has expired, is used
    /// up or is closed. So a client can repeat an enrolment whose answer was lost. A revoked or unknown token is always
    /// refused.
    async fn enrol(
        &self,
        token_id: &str,
        public_key: &str,
        id_if_new: ClientId,
        now: Timestamp,
    ) -> Result<EnrolOutcome, StorageError> {
        self.enrol_user(token_id, None, public_key, id_if_new, now).await
    }

    /// Enrols a client like [`ClientRepository::enrol`], and as a device of `user_key`, if one is given, in the place of
    /// the token's user.
    async fn enrol_user(
        &self,
        token_id: &str,
        user_key: Option<UserKey>,
        public_key: &str,
        id_if_new: ClientId,
        now: Timestamp,
    ) -> Result<EnrolOutcome, StorageError>;

    /// Finds a client in any organisation, because a request contains only the client's id.
    async fn client(&self, id: ClientId) -> Result<Option<ClientRecord>, StorageError>;

    /// Counts the population's clients that are not revoked.
    async fn client_count(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<u64, StorageError>;

    /// Returns whether the population has at least `count` clients that are not revoked. It stops counting at
    /// `count`.
    async fn has_clients(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        count: u64,
    ) -> Result<bool, StorageError>;

    /// Lists the clients that enrolled with the organisation's token, newest first, at most `limit`. If `before` is
    /// given, only clients older than that one.
    async fn clients_of_token(
        &self,
        organisation_id: OrganisationId,
        token_id: &str,
        limit: u32,
        before: Option<ClientId>,
    ) -> Result<Vec<ClientRecord>, StorageError>;

    /// Revokes a client's key and, if requested, closes the token with which the client enrolled, in one transaction. A
    /// key that is already revoked and a token that is already closed do not change. Returns the client.
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
