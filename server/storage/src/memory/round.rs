use async_trait::async_trait;
use folkmoot_coordinator::{
    participation::StartClocks,
    round::{Phase, Purpose},
    task::abandoned_in_a_row,
};
use folkmoot_protocol::{OrganisationId, RoundId, TaskId, Timestamp};

use super::{
    MemoryStorage, State,
    counts::{check_count, check_moment},
};
use crate::{
    AcceptedUpdate, AssignmentRecord, Rest, RoundCommit, RoundRecord, RoundRepository, StorageError,
};

#[async_trait]
impl RoundRepository for MemoryStorage {
    async fn open_round(&self, record: &RoundRecord) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.check_new_round(record, None)?;
        state.rounds.insert(record);
        Ok(())
    }

    async fn unfinished_rounds(&self, task_id: TaskId) -> Result<Vec<RoundRecord>, StorageError> {
        let state = self.lock();
        let open = |purpose| state.rounds.open(task_id, purpose).cloned();
        Ok([Purpose::Training, Purpose::Evaluation].into_iter().filter_map(open).collect())
    }

    async fn unfinished_round(&self, task_id: TaskId) -> Result<Option<RoundRecord>, StorageError> {
        Ok(self.lock().rounds.open(task_id, Purpose::Training).cloned())
    }

    async fn round(
        &self,
        organisation_id: OrganisationId,
        id: RoundId,
    ) -> Result<Option<RoundRecord>, StorageError> {
        let state = self.lock();
        Ok(state.rounds.get(id).filter(|record| record.organisation_id == organisation_id).cloned())
    }

    async fn rounds(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<RoundRecord>, StorageError> {
        let state = self.lock();
        let below = state.rounds.below(task_id, before.unwrap_or(u64::MAX));
        Ok(below.take(limit as usize).cloned().collect())
    }

    async fn round_counts(&self, task_id: TaskId) -> Result<(u64, u64), StorageError> {
        Ok(self.lock().rounds.counts(task_id))
    }

    async fn abandoned_in_a_row(
        &self,
        task_id: TaskId,
        after_round: u64,
    ) -> Result<(u64, u64), StorageError> {
        check_count(after_round)?;
        let state = self.lock();
        let rounds = || state.rounds.below(task_id, u64::MAX).map(|record| &record.round);
        let count = abandoned_in_a_row(rounds(), after_round);
        let newest = rounds().find(|round| round.has_failed()).filter(|_| count > 0);
        Ok((count, newest.map_or(0, |round| round.number)))
    }

    async fn first_round_at(&self, task_id: TaskId) -> Result<Option<Timestamp>, StorageError> {
        Ok(self.lock().rounds.first_at(task_id))
    }

    async fn assign_and_keep(
        &self,
        record: &RoundRecord,
        assignments: &[AssignmentRecord],
        clocks: &StartClocks,
        selection_state: Option<&[u8]>,
    ) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.rounds.check_update(record)?;
        state.check_cohort(assignments)?;
        state.rounds.update(record);
        state.give(record.round.task_id, assignments, clocks);
        if let Some(kept) = selection_state {
            state.selection_states.insert(record.round.task_id, kept.to_vec());
        }
        Ok(())
    }

    async fn selection_state(&self, task_id: TaskId) -> Result<Vec<u8>, StorageError> {
        Ok(self.lock().selection_states.get(&task_id).cloned().unwrap_or_default())
    }

    async fn store_phase(&self, record: &RoundRecord) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.rounds.check_update(record)?;
        state.rounds.update(record);
        Ok(())
    }

    async fn close_reporting(
        &self,
        record: &RoundRecord,
        rest: Rest,
        now: Timestamp,
    ) -> Result<Vec<AcceptedUpdate>, StorageError> {
        let (Phase::Aggregating { accepted, .. } | Phase::Unmasking { accepted, .. }) = record.round.phase
        else {
            return Err(StorageError::RevisionConflict("round"));
        };
        check_moment(now)?;
        let mut state = self.lock();
        state.rounds.check_update(record)?;
        if state.accepted_count(record.round.id) != accepted {
            return Err(StorageError::RevisionConflict("round"));
        }
        state.rounds.update(record);
        if rest == Rest::Expires {
            state.expire_outstanding(&record.round, now);
        }
        Ok(state.accepted_updates(record.round.id))
    }

    async fn commit_round(&self, commit: &RoundCommit<'_>) -> Result<(), StorageError> {
        self.lock().release(commit)
    }

    async fn abandon_round(&self, record: &RoundRecord, now: Timestamp) -> Result<(), StorageError> {
        check_moment(now)?;
        let mut state = self.lock();
        state.rounds.check_update(record)?;
        state.rounds.update(record);
        state.secure.remove(&record.round.id);
        state.expire_outstanding(&record.round, now);
        Ok(())
    }
}

impl State {
    /// Checks whether a round can be added, assuming that the round `ended` is no longer open.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the task already has a round with this number, or another open one;
    /// [`StorageError::NotFound`] if the organisation has no such task.
    pub(super) fn check_new_round(
        &self,
        record: &RoundRecord,
        ended: Option<RoundId>,
    ) -> Result<(), StorageError> {
        self.rounds.check_insert(record, ended)?;
        match self.tasks.is_of(record.round.task_id, record.organisation_id) {
            true => Ok(()),
            false => Err(StorageError::NotFound("task")),
        }
    }
}
