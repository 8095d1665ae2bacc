use async_trait::async_trait;
use folkmoot_coordinator::task::Candidate;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp};

use crate::StorageError;

/// A client that offers itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckInRecord {
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// Its population.
    pub population: PopulationName,
    /// The client, with what it says of itself.
    pub candidate: Candidate,
    /// When it checked in.
    pub at: Timestamp,
    /// Until when the offer holds.
    pub expires_at: Timestamp,
}

/// The pool of waiting clients: at most one row a client.
#[async_trait]
pub trait CheckInRepository {
    /// Records a check-in, in place of the client's last one. A client with an outstanding assignment is not
    /// put into the pool; the answer is then `false`.
    ///
    /// # Errors
    /// [`StorageError::ClientRevoked`] if its key was revoked, also if that happens at the same time: it is not in the pool
    /// then. [`StorageError::NotFound`] if the organisation has no such client.
    async fn check_in(&self, check_in: &CheckInRecord) -> Result<bool, StorageError>;

    /// Takes a client out of the pool, and says whether it was there.
    async fn withdraw_check_in(&self, client_id: ClientId) -> Result<bool, StorageError>;

    /// Takes a client out of the pool if its offer is still the one that ends at `expires_at`, and says whether it was:
    /// whoever has come back since stays.
    async fn withdraw_offer(&self, client_id: ClientId, expires_at: Timestamp) -> Result<bool, StorageError>;

    /// Lists the population's waiting clients whose offer holds at `now`, by client id.
    async fn waiting(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StorageError>;

    /// Lists those of these clients that wait, by client id.
    async fn candidates(&self, client_ids: &[ClientId]) -> Result<Vec<Candidate>, StorageError>;

    /// Deletes the offers that ended before `now`, and says how many.
    async fn delete_expired_check_ins(&self, now: Timestamp) -> Result<u64, StorageError>;
}
