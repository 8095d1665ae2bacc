use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, Role, Timestamp};

use crate::{ApiKeyId, StorageError};

/// The public part of a session: 16 hexadecimal digits.
pub type SessionId = String;

/// A session. A cookie of the console or a token of the command line identifies it. The secret is stored only as a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// The public part.
    pub id: SessionId,
    /// The key or person that signed in.
    pub holder: SessionHolder,
    /// SHA-256 of the secret. The secret has 256 random bits, so no slow hash is needed.
    pub secret_hash: [u8; 32],
    /// When the holder signed in.
    pub created_at: Timestamp,
    /// When the session expires.
    pub expires_at: Timestamp,
    /// The next question to a person's identity provider; `None` if there is none.
    pub renewal: Option<RenewalRecord>,
    /// When the session was last used, to some minutes; `None` if it was not used since this is recorded.
    pub used_at: Option<Timestamp>,
}

/// The next question to an identity provider for a person's groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewalRecord {
    /// When to ask.
    pub at: Timestamp,
    /// When the provider's last confirmation expires. Without a newer one, the session ends then.
    pub confirmed_until: Timestamp,
    /// The provider's refresh token, encrypted with the secret of the session.
    pub sealed_token: Vec<u8>,
}

/// The key or person that signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionHolder {
    /// Somebody with an API key. The session has the key's permissions and ends when the key is revoked.
    ApiKey(ApiKeyId),
    /// A person whom an identity provider confirmed.
    Person(PersonRecord),
}

/// A person whom an identity provider confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonRecord {
    /// The organisation that the provider belongs to.
    pub organisation_id: OrganisationId,
    /// The provider's name in the configuration.
    pub provider: String,
    /// The person's id at the provider.
    pub subject: String,
    /// The name to show.
    pub name: String,
    /// The role at sign-in or at the last renewal.
    pub role: Role,
}

/// Stores sessions.
#[async_trait]
pub trait SessionRepository {
    /// Stores a new session. Deletes all sessions that had expired before the new one began.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such API key or organisation, [`StorageError::OrganisationClosed`] if a
    /// person's organisation is closed, [`StorageError::NameTaken`] if the id is already in use.
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError>;

    /// Finds a session, even if it has expired.
    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StorageError>;

    /// Claims the renewal that is due at `due`, by moving it to `next`. Returns `false` if there is no such renewal, for
    /// example because another process has claimed it.
    async fn claim_renewal(&self, id: &str, due: Timestamp, next: Timestamp) -> Result<bool, StorageError>;

    /// Replaces the name, role, end and renewal of a person's session, whose renewal was claimed until `claim`.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the session has ended, or somebody else has claimed its renewal since.
    async fn renew_session(&self, session: &SessionRecord, claim: Timestamp) -> Result<(), StorageError>;

    /// Deletes a session, if it exists.
    async fn delete_session(&self, id: &str) -> Result<(), StorageError>;

    /// Lists at most `limit` sessions of the organisation's keys and people that are open at `now`, newest first.
    async fn open_sessions(
        &self,
        organisation_id: OrganisationId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<SessionRecord>, StorageError>;

    /// Ends a session of the organisation.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such session.
    async fn end_session(&self, organisation_id: OrganisationId, id: &str) -> Result<(), StorageError>;

    /// Ends all sessions of a person in the organisation, and returns their number.
    async fn end_sessions_of_person(
        &self,
        organisation_id: OrganisationId,
        provider: &str,
        subject: &str,
    ) -> Result<u64, StorageError>;

    /// Records when sessions were last used. Earlier times than the recorded ones, and unknown sessions, change nothing. A
    /// power failure may undo it.
    async fn record_session_uses(&self, uses: &[(SessionId, Timestamp)]) -> Result<(), StorageError>;

    /// Records that a person was confirmed by an identity provider, but has no role. `person` is their name in the
    /// audit log.
    async fn record_refused_person(
        &self,
        organisation_id: OrganisationId,
        person: &str,
    ) -> Result<(), StorageError>;
}
