use async_trait::async_trait;
use folkmoot_coordinator::task::Candidate;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp};

use super::{
    MemoryStorage, State,
    counts::{check_counts, check_moment},
};
use crate::{CheckInRecord, CheckInRepository, StorageError};

#[async_trait]
impl CheckInRepository for MemoryStorage {
    async fn check_in(&self, check_in: &CheckInRecord) -> Result<bool, StorageError> {
        self.lock().check_in(check_in)
    }

    async fn withdraw_check_in(&self, client_id: ClientId) -> Result<bool, StorageError> {
        Ok(self.lock().pool.remove(client_id))
    }

    async fn withdraw_offer(&self, client_id: ClientId, expires_at: Timestamp) -> Result<bool, StorageError> {
        check_moment(expires_at)?;
        Ok(self.lock().pool.remove_offer(client_id, expires_at))
    }

    async fn waiting(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StorageError> {
        check_moment(now)?;
        let state = self.lock();
        Ok(state
            .pool
            .waiting(organisation_id, population, now)
            .into_iter()
            .map(|one| (**one).clone())
            .collect())
    }

    async fn candidates(&self, client_ids: &[ClientId]) -> Result<Vec<Candidate>, StorageError> {
        let state = self.lock();
        let waiting = client_ids.iter().filter_map(|id| state.pool.get(*id));
        let mut candidates: Vec<Candidate> = waiting.cloned().collect();
        candidates.sort_unstable_by_key(|candidate| candidate.client_id);
        Ok(candidates)
    }

    async fn delete_expired_check_ins(&self, now: Timestamp) -> Result<u64, StorageError> {
        check_moment(now)?;
        Ok(self.lock().pool.remove_expired(now))
    }
}

impl State {
    fn check_in(&mut self, check_in: &CheckInRecord) -> Result<bool, StorageError> {
        let client_id = check_in.candidate.client_id;
        let client =
            self.clients.get(client_id).filter(|one| one.organisation_id == check_in.organisation_id);
        if client.is_some_and(|client| client.revoked_at.is_some()) {
            return Err(StorageError::ClientRevoked);
        }
        check_counts([check_in.candidate.example_count, check_in.at.0, check_in.expires_at.0])?;
        if !self.clients.is_of(client_id, check_in.organisation_id) {
            return Err(StorageError::NotFound("client"));
        }
        if self.assignments.outstanding_of(client_id).is_some() {
            self.pool.remove(client_id);
            return Ok(false);
        }
        self.pool.insert(check_in);
        Ok(true)
    }
}
