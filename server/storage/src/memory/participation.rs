use async_trait::async_trait;
use folkmoot_coordinator::participation::{History, Participated, User, Waiting};
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, TaskId, Timestamp};

use super::{MemoryStorage, State, counts::check_moment};
use crate::{ParticipationRepository, StorageError};

#[async_trait]
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
        let unit = state.populations.get(&organisation_id).and_then(|names| names.get(population));
        let has_users = unit.is_some_and(|population| population.privacy.unit == Unit::User);
        let waiting = state.pool.waiting(organisation_id, population, now).into_iter();
        let with_history = waiting.map(|candidate| Waiting {
            candidate: candidate.clone(),
            history: state.history_of(task_id, candidate.client_id).cloned().unwrap_or_default(),
            user: if has_users { state.user_of(task_id, candidate.client_id) } else { None },
            token: state.clients.get(candidate.client_id).and_then(|client| client.token_id.clone()),
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
    fn history_of(&self, task_id: TaskId, client_id: ClientId) -> Option<&History> {
        self.participations.get(&task_id).and_then(|histories| histories.get(&client_id))
    }

    /// Returns the user who owns a client, with the participation of all the user's devices in a task; `None` if the
    /// user is not known.
    fn user_of(&self, task_id: TaskId, client_id: ClientId) -> Option<User> {
        let key = self.clients.get(client_id)?.user_key?;
        let mut user = User { key, participated: Participated::default(), is_busy: false };
        for device in self.clients.of_user(key) {
            self.history_of(task_id, device).into_iter().for_each(|history| user.participated.add(history));
            let outstanding = self.assignments.outstanding_of(device);
            user.is_busy |= outstanding.is_some_and(|assignment| assignment.task_id == task_id);
        }
        Some(user)
    }

    /// Returns a mutable reference to a client's history in a task. Creates an empty history if there is none.
    pub(super) fn history(&mut self, task_id: TaskId, client_id: ClientId) -> &mut History {
        self.participations.entry(task_id).or_default().entry(client_id).or_default()
    }
}
