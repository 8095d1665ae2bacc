use std::collections::BTreeSet;

use async_trait::async_trait;
use folkmoot_coordinator::{
    participation::Push,
    round::{Phase, Purpose, Round},
    scheduling::{Outstanding, ReportCounts},
    selection::TokenCounts,
};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, TaskId, Timestamp, messages::ReportRequest};

use super::{
    MemoryStorage, State,
    counts::{check_counts, check_metrics, check_moment},
};
use crate::{
    AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus, CloseOutcome,
    DropReason, StorageError, UpdateTraffic,
};

#[async_trait]
impl AssignmentRepository for MemoryStorage {
    async fn assignment(&self, id: AssignmentId) -> Result<Option<AssignmentRecord>, StorageError> {
        Ok(self.lock().assignments.get(id).cloned())
    }

    async fn outstanding_assignment(
        &self,
        client_id: ClientId,
    ) -> Result<Option<AssignmentRecord>, StorageError> {
        Ok(self.lock().assignments.outstanding_of(client_id).cloned())
    }

    async fn assignments(&self, round_id: RoundId) -> Result<Vec<AssignmentRecord>, StorageError> {
        Ok(self.lock().assignments.of_round(round_id).cloned().collect())
    }

    async fn accept_update(&self, update: &AcceptedUpdate) -> Result<AcceptOutcome, StorageError> {
        self.lock().accept(update)
    }

    async fn drop_assignment(
        &self,
        id: AssignmentId,
        reason: &DropReason,
        now: Timestamp,
    ) -> Result<CloseOutcome, StorageError> {
        check_moment(now)?;
        self.lock().drop_assignment(id, reason, now)
    }

    async fn report_counts(&self, round_id: RoundId) -> Result<ReportCounts, StorageError> {
        Ok(self.lock().assignments.counts(round_id))
    }

    async fn flow_counts(&self, task_id: TaskId, round_id: RoundId) -> Result<ReportCounts, StorageError> {
        let state = self.lock();
        let outstanding = state.assignments.outstanding_count(task_id, Purpose::Training);
        let dropped = state.assignments.counts(round_id).dropped;
        Ok(ReportCounts { accepted: state.accepted_count(round_id), outstanding, dropped })
    }

    async fn flow_tokens(&self, task_id: TaskId, round_id: RoundId) -> Result<TokenCounts, StorageError> {
        let state = self.lock();
        let under_way = state.assignments.outstanding(task_id, Purpose::Training);
        let updates = state.updates.get(&round_id).into_iter().flat_map(|updates| updates.keys());
        let accepted = updates.filter_map(|id| state.assignments.get(*id));
        let mut counts = TokenCounts::new();
        for client in under_way.chain(accepted).filter_map(|one| state.clients.get(one.client_id)) {
            *counts.entry(client.token_id.clone()).or_insert(0) += 1;
        }
        Ok(counts)
    }

    async fn outstanding(&self, task_id: TaskId) -> Result<Vec<Outstanding>, StorageError> {
        let outstanding = |assignment: &AssignmentRecord| Outstanding {
            assignment_id: assignment.id,
            client_id: assignment.client_id,
            base_version: assignment.base_version,
            deadline: assignment.deadline,
        };
        let state = self.lock();
        Ok(state.assignments.outstanding(task_id, Purpose::Training).map(outstanding).collect())
    }

    async fn needed_logs(&self) -> Result<BTreeSet<(RoundId, AssignmentId)>, StorageError> {
        let state = self.lock();
        let under_way = state.assignments.all_outstanding().map(|one| (one.round_id, one.id));
        let updates = state.rounds.all_open().filter_map(|id| state.updates.get(&id));
        let accepted = updates.flat_map(|updates| updates.values());
        Ok(under_way.chain(accepted.map(|one| (one.round_id, one.assignment_id))).collect())
    }

    async fn accepted_updates(&self, round_id: RoundId) -> Result<Vec<AcceptedUpdate>, StorageError> {
        Ok(self.lock().accepted_updates(round_id))
    }

    async fn traffic(&self, round_id: RoundId) -> Result<Vec<UpdateTraffic>, StorageError> {
        let state = self.lock();
        let updates = state.updates.get(&round_id).into_iter().flat_map(|updates| updates.values());
        let traffic = |update: &AcceptedUpdate| UpdateTraffic {
            codec: update.codec.clone(),
            slices: state
                .assignments
                .get(update.assignment_id)
                .map(|one| one.slices.clone())
                .unwrap_or_default(),
            bytes: update.bytes,
            report: state.reports.get(&update.assignment_id).copied(),
        };
        Ok(updates.map(traffic).collect())
    }

    async fn record_report(
        &self,
        id: AssignmentId,
        report: &ReportRequest,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        check_moment(now)?;
        let mut state = self.lock();
        if state.assignments.get(id).is_none() {
            return Err(StorageError::NotFound("assignment"));
        }
        state.reports.entry(id).or_insert(*report);
        Ok(())
    }

    async fn report(&self, id: AssignmentId) -> Result<Option<ReportRequest>, StorageError> {
        Ok(self.lock().reports.get(&id).copied())
    }
}

impl State {
    fn accept(&mut self, update: &AcceptedUpdate) -> Result<AcceptOutcome, StorageError> {
        let id = update.assignment_id;
        let assignment = self.assignments.get(id).ok_or(StorageError::NotFound("assignment"))?;
        match &assignment.status {
            AssignmentStatus::Accepted { digest, .. } if *digest == update.digest => {
                return Ok(AcceptOutcome::AlreadyAccepted);
            }
            AssignmentStatus::Accepted { .. } => return Ok(AcceptOutcome::Conflict),
            AssignmentStatus::Dropped { .. } => return Ok(AcceptOutcome::Closed),
            AssignmentStatus::Outstanding => {}
        }
        let Some((round_id, was_asked)) = self.taking_round(assignment) else {
            return Ok(AcceptOutcome::Later);
        };
        check_counts([update.bytes, update.weight, update.accepted_at.0])?;
        check_metrics(&update.metrics)?;
        let (task_id, client_id) = (assignment.task_id, assignment.client_id);
        let push = Push {
            started_at: assignment.created_at,
            was_asked,
            at: update.accepted_at,
            base_version: assignment.base_version,
            loss_sum: update.metrics.loss_sum,
            example_count: update.metrics.example_count,
        };
        // The round and the base version come from the assignment; those of the update are ignored.
        let accepted = AcceptedUpdate {
            round_id: assignment.round_id,
            base_version: assignment.base_version,
            ..update.clone()
        };
        self.assignments.close(id, AssignmentStatus::Accepted { digest: update.digest, bytes: update.bytes });
        self.updates.entry(round_id).or_default().insert(id, accepted);
        self.history(task_id, client_id).push(push);
        Ok(AcceptOutcome::Accepted)
    }

    /// Returns the open round of the assignment's task and purpose if that round accepts another update. The flag is
    /// true if the round has asked its clients to send their updates.
    fn taking_round(&self, assignment: &AssignmentRecord) -> Option<(RoundId, bool)> {
        let open = self.rounds.open(assignment.task_id, assignment.purpose)?;
        let takes = matches!(open.round.phase, Phase::Reporting { .. } | Phase::Collecting { .. });
        let has_room = open.updates_max.is_none_or(|most| self.accepted_count(open.round.id) < most);
        (takes && has_room).then_some((open.round.id, open.round.phase.asked().is_some()))
    }

    /// Returns the number of updates that a round has accepted.
    pub(super) fn accepted_count(&self, round_id: RoundId) -> u64 {
        self.updates.get(&round_id).map_or(0, |updates| updates.len() as u64)
    }

    /// Lists the updates that a round has accepted, by assignment id.
    pub(super) fn accepted_updates(&self, round_id: RoundId) -> Vec<AcceptedUpdate> {
        let updates = self.updates.get(&round_id).into_iter();
        updates.flat_map(|updates| updates.values()).cloned().collect()
    }

    fn drop_assignment(
        &mut self,
        id: AssignmentId,
        reason: &DropReason,
        now: Timestamp,
    ) -> Result<CloseOutcome, StorageError> {
        if self.assignments.get(id).is_none() {
            return Err(StorageError::NotFound("assignment"));
        }
        let status = AssignmentStatus::Dropped { reason: reason.clone() };
        let closed = self.assignments.close(id, status).map(|one| (one.task_id, one.client_id));
        let Some((task_id, client_id)) = closed else { return Ok(CloseOutcome::Unchanged) };
        self.history(task_id, client_id).fail(now);
        Ok(CloseOutcome::Dropped)
    }

    /// Lets the outstanding assignments of a round's task and purpose expire. Records a failure for each client whose
    /// deadline has passed.
    pub(super) fn expire_outstanding(&mut self, round: &Round, now: Timestamp) {
        let outstanding = self.assignments.outstanding(round.task_id, round.purpose);
        let outstanding: Vec<(AssignmentId, ClientId, Timestamp)> =
            outstanding.map(|one| (one.id, one.client_id, one.deadline)).collect();
        for (id, client_id, deadline) in outstanding {
            if deadline <= now {
                self.history(round.task_id, client_id).fail(now);
            }
            self.assignments.close(id, AssignmentStatus::Dropped { reason: DropReason::Expired });
        }
    }
}
