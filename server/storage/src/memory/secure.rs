use async_trait::async_trait;
use folkmoot_coordinator::{round::SecureStep, scheduling::ReportCounts};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, Timestamp};

use super::{MemoryStorage, counts::check_moment};
use crate::{AssignmentStatus, DropReason, RecordOutcome, RoundRecord, SecureRepository, StorageError};

#[async_trait]
impl SecureRepository for MemoryStorage {
    async fn record_secure(
        &self,
        id: AssignmentId,
        step: SecureStep,
        message: &str,
        now: Timestamp,
    ) -> Result<RecordOutcome, StorageError> {
        check_moment(now)?;
        let mut state = self.lock();
        let assignment = state.assignments.get(id).ok_or(StorageError::NotFound("assignment"))?;
        let (round_id, is_dropped) =
            (assignment.round_id, matches!(assignment.status, AssignmentStatus::Dropped { .. }));
        let round = state.rounds.get(round_id);
        let is_open = round.is_some_and(|record| step.is_open_in(&record.round.phase));
        let messages = state.secure.entry(round_id).or_default();
        match messages.get(&(step, id)) {
            Some(stored) if stored == message => Ok(RecordOutcome::Repeated),
            Some(_) => Ok(RecordOutcome::Conflict),
            None if !is_open || is_dropped => Ok(RecordOutcome::Closed),
            None => {
                messages.insert((step, id), message.to_owned());
                Ok(RecordOutcome::Recorded)
            }
        }
    }

    async fn secure_messages(
        &self,
        round_id: RoundId,
        step: SecureStep,
    ) -> Result<Vec<(AssignmentId, String)>, StorageError> {
        let state = self.lock();
        let messages = state.secure.get(&round_id).into_iter().flatten();
        let of_step = messages.filter(|((of, _), _)| *of == step);
        Ok(of_step.map(|((_, id), message)| (*id, message.clone())).collect())
    }

    async fn secure_senders(
        &self,
        round_id: RoundId,
        step: SecureStep,
    ) -> Result<Vec<AssignmentId>, StorageError> {
        let state = self.lock();
        let messages = state.secure.get(&round_id).into_iter().flatten();
        Ok(messages.filter(|((of, _), _)| *of == step).map(|((_, id), _)| *id).collect())
    }

    async fn secure_messages_of(
        &self,
        ids: &[AssignmentId],
        step: SecureStep,
    ) -> Result<Vec<(AssignmentId, String)>, StorageError> {
        let state = self.lock();
        let message = |id: &AssignmentId| {
            let round_id = state.assignments.get(*id)?.round_id;
            Some((*id, state.secure.get(&round_id)?.get(&(step, *id))?.clone()))
        };
        let mut messages: Vec<_> = ids.iter().filter_map(message).collect();
        messages.sort_unstable_by_key(|(id, _)| *id);
        Ok(messages)
    }

    async fn step_counts(&self, round_id: RoundId, step: SecureStep) -> Result<ReportCounts, StorageError> {
        let state = self.lock();
        let messages = state.secure.get(&round_id);
        let has_message = |id: AssignmentId| messages.is_some_and(|all| all.contains_key(&(step, id)));
        let mut counts = ReportCounts::default();
        for assignment in state.assignments.of_round(round_id) {
            match assignment.status {
                AssignmentStatus::Outstanding if has_message(assignment.id) => counts.accepted += 1,
                AssignmentStatus::Outstanding => counts.outstanding += 1,
                _ => counts.dropped += 1,
            }
        }
        Ok(counts)
    }

    async fn blame(&self, id: AssignmentId, now: Timestamp) -> Result<ClientId, StorageError> {
        check_moment(now)?;
        let mut state = self.lock();
        let assignment = state.assignments.get(id).ok_or(StorageError::NotFound("assignment"))?;
        let (task, client, round) = (assignment.task_id, assignment.client_id, assignment.round_number);
        state.history(task, client).blame(round, now);
        Ok(client)
    }

    async fn close_step(
        &self,
        record: &RoundRecord,
        step: SecureStep,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        check_moment(now)?;
        let mut state = self.lock();
        state.rounds.check_update(record)?;
        state.rounds.update(record);
        let round_id = record.round.id;
        let mut messages = state.secure.remove(&round_id).unwrap_or_default();
        let ids: Vec<AssignmentId> = state.assignments.of_round(round_id).map(|one| one.id).collect();
        for id in ids {
            if !messages.contains_key(&(step, id)) {
                state.assignments.close(id, AssignmentStatus::Dropped { reason: DropReason::Expired });
            }
            let status = state.assignments.get(id).map(|one| &one.status);
            if matches!(status, Some(AssignmentStatus::Dropped { .. })) {
                messages.remove(&(step, id));
            }
        }
        state.secure.insert(round_id, messages);
        Ok(())
    }
}
