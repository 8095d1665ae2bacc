//! The transaction that ends a round with a new version.

use folkmoot_protocol::AssignmentId;

use super::{State, counts::check_moment};
use crate::{AssignmentStatus, DropReason, RoundCommit, StorageError};

impl State {
    /// Stores a committed round and the other parts of the commit.
    ///
    /// # Errors
    /// The errors of [`crate::RoundRepository::commit_round`]. In these cases nothing is stored.
    pub(super) fn release(&mut self, commit: &RoundCommit<'_>) -> Result<(), StorageError> {
        let RoundCommit { record, version, task_state, next, dropped, now, .. } = *commit;
        check_moment(now)?;
        self.rounds.check_update(record)?;
        self.check_version(record.organisation_id, version)?;
        if dropped.iter().any(|id| self.assignments.get(*id).is_none()) {
            return Err(StorageError::NotFound("assignment"));
        }
        if let Some(next) = next {
            let ended = record.round.phase.is_final().then_some(record.round.id);
            self.check_new_round(next, ended)?;
        }
        if let Some(leave) = &commit.leave {
            self.check_leave(record.organisation_id, leave)?;
        }
        self.rounds.update(record);
        self.secure.remove(&record.round.id);
        self.insert_version(version);
        self.charge(commit);
        self.leave_behind(dropped);
        match next {
            Some(next) => self.rounds.insert(next),
            None => self.expire_outstanding(&record.round, now),
        }
        if let Some(state) = task_state {
            // A task that has already ended, for example because an operator cancelled it, keeps its state.
            self.tasks.set_state(record.round.task_id, state, |task| !task.state.is_final());
        }
        Ok(())
    }

    /// Drops the outstanding ones among these assignments, because their work became too stale.
    fn leave_behind(&mut self, assignments: &[AssignmentId]) {
        for id in assignments {
            self.assignments.close(*id, AssignmentStatus::Dropped { reason: DropReason::LeftBehind });
        }
    }
}
