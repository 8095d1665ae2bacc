//! The transaction that assigns a cohort.

use std::collections::HashSet;

use folkmoot_coordinator::participation::StartClocks;
use folkmoot_protocol::TaskId;

use super::{State, counts::check_counts};
use crate::{AssignmentRecord, AssignmentStatus, StorageError};

impl State {
    /// Checks whether these assignments can be created.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if a client is not in the pool or has another outstanding assignment;
    /// [`StorageError::NotFound`] if the round or a client does not belong to the organisation.
    pub(super) fn check_cohort(&self, assignments: &[AssignmentRecord]) -> Result<(), StorageError> {
        let (mut ids, mut clients) = (HashSet::new(), HashSet::new());
        for assignment in assignments {
            let AssignmentRecord { id, client_id, organisation_id, .. } = assignment;
            let moments = [assignment.created_at.0, assignment.deadline.0];
            check_counts(moments.into_iter().chain([assignment.round_number, assignment.base_version]))?;
            let is_new = ids.insert(*id) && self.assignments.get(*id).is_none();
            let is_free = clients.insert(*client_id)
                && self.pool.contains(*client_id)
                && (assignment.status != AssignmentStatus::Outstanding
                    || self.assignments.outstanding_of(*client_id).is_none());
            if !is_new || !is_free {
                return Err(StorageError::RevisionConflict("cohort"));
            }
            let round = self.rounds.get(assignment.round_id);
            let is_known = round.is_some_and(|round| round.organisation_id == *organisation_id)
                && self.clients.is_of(*client_id, *organisation_id)
                && self.tasks.is_of(assignment.task_id, *organisation_id);
            if !is_known {
                return Err(StorageError::NotFound("client"));
            }
        }
        Ok(())
    }

    /// Creates assignments that were checked. Removes their clients from the pool and records the starts.
    pub(super) fn give(&mut self, task_id: TaskId, assignments: &[AssignmentRecord], clocks: &StartClocks) {
        for assignment in assignments {
            self.pool.remove(assignment.client_id);
            self.assignments.insert(assignment.clone());
            let history = self.history(assignment.task_id, assignment.client_id);
            history.start(assignment.round_number, assignment.created_at);
            history.set_clocks(assignment.client_id, clocks);
        }
        self.tasks.serve(task_id, assignments.len() as u64);
    }
}
