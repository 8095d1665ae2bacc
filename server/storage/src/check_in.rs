use async_trait::async_trait;
use folkmoot_coordinator::task::Candidate;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp};

use crate::StorageError;

/// A client's check-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckInRecord {
    /// The client's organisation.
    pub organisation_id: OrganisationId,
    /// The client's population.
    pub population: PopulationName,
    /// The client and its reported attributes.
    pub candidate: Candidate,
    /// When the client checked in.
    pub at: Timestamp,
    /// When the check-in expires.
    pub expires_at: Timestamp,
}

/// Stores the pool of waiting clients: at most one row per client.
#[async_trait]
pub trait CheckInRepository {
    /// Records a check-in, which replaces the client's last one. If the client has an outstanding assignment, it is not
    /// put into the pool, and the result is `false`.
    ///
    /// # Errors
    /// [`StorageError::ClientRevoked`] if the client's key was revoked, even concurrently: then the client is not in
    /// the pool. [`StorageError::NotFound`] if the organisation has no such client.
    async fn check_in(&self, check_in: &CheckInRecord) -> Result<bool, StorageError>;

    /// Removes a client from the pool. Returns whether the client was in the pool.
    async fn withdraw_check_in(&self, client_id: ClientId) -> Result<bool, StorageError>;

    /// Removes a client from the pool if its check-in still expires at `expires_at`, and returns whether the client was
    /// removed. A client that has checked in again stays in the pool.
    async fn withdraw_offer(&self, client_id: ClientId, expires_at: Timestamp) -> Result<bool, StorageError>;

    /// Lists the population's waiting clients whose check-in is valid at `now`, by client id.
    async fn waiting(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StorageError>;

    /// Lists those of the given clients that are waiting, by client id.
    async fn candidates(&self, client_ids: &[ClientId]) -> Result<Vec<Candidate>, StorageError>;

    /// Deletes the check-ins that expired before `now`, and returns their number.
    async fn delete_expired_check_ins(&self, now: Timestamp) -> Result<u64, StorageError>;
}
