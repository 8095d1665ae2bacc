use std::collections::{BTreeSet, HashMap};

use folkmoot_coordinator::{round::Purpose, scheduling::ReportCounts};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, TaskId};

use crate::{AssignmentRecord, AssignmentStatus};

/// The assignments, indexed by id, by round, and by client while outstanding. Finished assignments use memory but do
/// not slow down other queries.
#[derive(Default)]
pub(in crate::memory) struct AssignmentTable {
    by_id: HashMap<AssignmentId, AssignmentRecord>,
    of_round: HashMap<RoundId, OfRound>,
    of_client: HashMap<ClientId, AssignmentId>,
    /// Outstanding assignments by task and purpose name.
    of_task: HashMap<(TaskId, &'static str), BTreeSet<AssignmentId>>,
}

/// One round's assignments.
#[derive(Default)]
struct OfRound {
    ids: BTreeSet<AssignmentId>,
    counts: ReportCounts,
}

impl AssignmentTable {
    /// Finds an assignment.
    pub(in crate::memory) fn get(&self, id: AssignmentId) -> Option<&AssignmentRecord> {
        self.by_id.get(&id)
    }

    /// Finds the client's outstanding assignment; `None` if it has none.
    pub(in crate::memory) fn outstanding_of(&self, client_id: ClientId) -> Option<&AssignmentRecord> {
        self.of_client.get(&client_id).and_then(|id| self.get(*id))
    }

    /// Lists all outstanding assignments, in arbitrary order.
    pub(in crate::memory) fn all_outstanding(&self) -> impl Iterator<Item = &AssignmentRecord> {
        self.of_client.values().filter_map(|id| self.get(*id))
    }

    /// Lists a task's outstanding assignments of a purpose, by id.
    pub(in crate::memory) fn outstanding(
        &self,
        task_id: TaskId,
        purpose: Purpose,
    ) -> impl Iterator<Item = &AssignmentRecord> {
        let ids = self.of_task.get(&(task_id, purpose.name())).into_iter().flatten();
        ids.filter_map(|id| self.get(*id))
    }

    /// Counts a task's outstanding assignments of a purpose.
    pub(in crate::memory) fn outstanding_count(&self, task_id: TaskId, purpose: Purpose) -> u64 {
        self.of_task.get(&(task_id, purpose.name())).map_or(0, |ids| ids.len() as u64)
    }

    /// Lists a round's assignments, by id.
    pub(in crate::memory) fn of_round(&self, round_id: RoundId) -> impl Iterator<Item = &AssignmentRecord> {
        let ids = self.of_round.get(&round_id).into_iter().flat_map(|of_round| &of_round.ids);
        ids.filter_map(|id| self.get(*id))
    }

    /// Counts a round's assignments by status.
    pub(in crate::memory) fn counts(&self, round_id: RoundId) -> ReportCounts {
        self.of_round.get(&round_id).map(|of_round| of_round.counts).unwrap_or_default()
    }

    /// Adds an assignment. Its id must be new, and its client must have no outstanding assignment.
    pub(in crate::memory) fn insert(&mut self, assignment: AssignmentRecord) {
        let of_round = self.of_round.entry(assignment.round_id).or_default();
        of_round.ids.insert(assignment.id);
        *count_of(&mut of_round.counts, &assignment.status) += 1;
        if assignment.status == AssignmentStatus::Outstanding {
            self.of_client.insert(assignment.client_id, assignment.id);
            let key = (assignment.task_id, assignment.purpose.name());
            self.of_task.entry(key).or_default().insert(assignment.id);
        }
        self.by_id.insert(assignment.id, assignment);
    }

    /// Closes an outstanding assignment with its final status, and returns it. Returns `None` if the assignment is not
    /// outstanding.
    pub(in crate::memory) fn close(
        &mut self,
        id: AssignmentId,
        status: AssignmentStatus,
    ) -> Option<&AssignmentRecord> {
        let assignment = self.by_id.get_mut(&id)?;
        if assignment.status != AssignmentStatus::Outstanding {
            return None;
        }
        if let Some(of_round) = self.of_round.get_mut(&assignment.round_id) {
            *count_of(&mut of_round.counts, &assignment.status) -= 1;
            *count_of(&mut of_round.counts, &status) += 1;
        }
        self.of_client.remove(&assignment.client_id);
        if let Some(ids) = self.of_task.get_mut(&(assignment.task_id, assignment.purpose.name())) {
            ids.remove(&id);
        }
        assignment.status = status;
        Some(assignment)
    }
}

fn count_of<'c>(counts: &'c mut ReportCounts, status: &AssignmentStatus) -> &'c mut u64 {
    match status {
        AssignmentStatus::Outstanding => &mut counts.outstanding,
        AssignmentStatus::Accepted { .. } => &mut counts.accepted,
        AssignmentStatus::Dropped { .. } => &mut counts.dropped,
    }
}
