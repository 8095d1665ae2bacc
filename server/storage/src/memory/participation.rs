use folkmoot_coordinator::participation::{History, Waiting};
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, TaskId, Timestamp};

use super::{MemoryStorage, State, counts::check_moment};
use crate::{ParticipationRepository, StorageError};

impl ParticipationRepository for MemoryStorage {
    async fn waiting_for(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        task_id: TaskId,
        now: Timestamp,
    ) -> Result<Vec<Waiting>, StorageError> {
        check_moment(now)?;
        let state = self.lock();
        let histories = state.participations.get(&task_id);
        let history = |client| histories.and_then(|histories| histories.get(&client)).cloned();
        let waiting = state.pool.waiting(organisation_id, population, now).into_iter();
        let with_history = waiting.map(|candidate| Waiting {
            candidate: candidate.clone(),
            history: history(candidate.client_id).unwrap_or_default(),
        });
        Ok(with_history.collect())
    }

    async fn participations(&self, task_id: TaskId) -> Result<Vec<(ClientId, History)>, StorageError> {
        let state = self.lock();
        let histories = state.participations.get(&task_id).into_iter().flatten();
        Ok(histories.map(|(client, history)| (*client, history.clone())).collect())
    }
}

impl State {
    /// Returns what a client has done for a task, to be changed.
    pub(super) fn history(&mut self, task_id: TaskId, client_id: ClientId) -> &mut History {
        self.participations.entry(task_id).or_default().entry(client_id).or_default()
    }
}
