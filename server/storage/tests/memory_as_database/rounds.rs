//! Random rounds: opened, assigned, closed, committed and abandoned, mostly in this order.

use folkmoot_coordinator::{
    participation::StartClocks,
    round::{AbandonReason, Phase, Purpose},
    task::{StopReason, TaskState},
};
use folkmoot_protocol::{AssignmentId, ClassReport, Metric, MetricValues, UpdateDigest};
use folkmoot_storage::{
    AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus,
    CheckInRepository, EvaluationRecord, EvaluationRepository, EvaluationSource, Rest, RoundCommit,
    RoundRecord, RoundRepository, TaskRepository,
};

use super::{
    same::same,
    settings::{CLIENTS, TASKS, client, metrics, organisation, population, round_record, task, version},
    world::World,
};

impl World {
    /// Opens a round of a task, or advances an open round.
    pub async fn advance(&mut self) -> Result<(), String> {
        let id = task(self.chance.below(TASKS));
        let open = same!(self, unfinished_rounds(id)).map_err(|error| error.to_string())?;
        if open.is_empty() || self.chance.happens(15) {
            return self.open(id).await;
        }
        let mut record = self.chance.one_of(&open);
        if self.chance.happens(5) {
            record.revision += 1;
        }
        if self.chance.happens(3) {
            record.organisation_id = organisation(self.chance.below(2));
        }
        match (&record.round.phase, self.chance.below(10)) {
            (_, 0) => {
                record.round.phase = Phase::Abandoned { at: self.now, reason: AbandonReason::TaskPaused };
                let _ = same!(self, abandon_round(&record, self.now));
                Ok(())
            }
            (Phase::Aggregating { .. }, _) => self.commit(record).await,
            (Phase::Reporting { since, cohort, .. }, 1) => {
                record.round.phase =
                    Phase::Reporting { since: *since, cohort: *cohort, asked: Some(self.now) };
                let _ = same!(self, store_phase(&record));
                Ok(())
            }
            (Phase::Selecting { .. }, _) | (Phase::Collecting { .. }, 1..6) => self.assign(record).await,
            _ => self.close(record).await,
        }
    }

    async fn open(&mut self, id: folkmoot_protocol::TaskId) -> Result<(), String> {
        let record = self.new_round(id).await?;
        let _ = same!(self, open_round(&record));
        Ok(())
    }

    async fn new_round(&mut self, id: folkmoot_protocol::TaskId) -> Result<RoundRecord, String> {
        let owner = same!(self, task_of_any_organisation(id)).map_err(|error| error.to_string())?;
        let owner = owner.map_or(organisation(0), |task| task.organisation_id);
        let (all, _) = same!(self, round_counts(id)).map_err(|error| error.to_string())?;
        let number = if self.chance.happens(90) { all + 1 } else { self.chance.below(4) };
        let purpose = self.chance.one_of(&[Purpose::Training, Purpose::Training, Purpose::Evaluation]);
        let since = self.now;
        let phase = self.chance.one_of(&[Phase::Selecting { since }, Phase::Collecting { since }]);
        let mut record = round_record(owner, id, number, purpose, phase);
        record.updates_max = self.chance.one_of(&[None, Some(2)]);
        Ok(record)
    }

    async fn assign(&mut self, mut record: RoundRecord) -> Result<(), String> {
        let mut clients = Vec::new();
        for number in 0..2 {
            let population = population(number);
            let waiting = same!(self, waiting(record.organisation_id, &population, self.now));
            clients.extend(waiting.into_iter().flatten().map(|candidate| candidate.client_id));
        }
        clients.retain(|_| self.chance.happens(60));
        if self.chance.happens(10) {
            clients.push(client(self.chance.below(CLIENTS)));
        }
        let mut assignments = Vec::new();
        for client_id in clients {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&self.chance.below(u64::MAX).to_le_bytes());
            bytes[8..].copy_from_slice(&(self.assignments.len() as u64).to_le_bytes());
            let id = AssignmentId::from_random_bytes(bytes);
            self.assignments.push(id);
            assignments.push(AssignmentRecord {
                id,
                organisation_id: record.organisation_id,
                task_id: record.round.task_id,
                round_id: record.round.id,
                round_number: record.round.number,
                purpose: record.round.purpose,
                client_id,
                base_version: record.round.base_version,
                created_at: self.now,
                deadline: self.now.plus_milliseconds(self.chance.below(40)),
                slices: [("os".into(), "linux".into())].into(),
                status: AssignmentStatus::Outstanding,
            });
        }
        if matches!(record.round.phase, Phase::Selecting { .. }) && !assignments.is_empty() {
            let cohort = assignments.len() as u64;
            record.round.phase = Phase::Reporting { since: self.now, cohort, asked: None };
        }
        let granted = |assignment: &AssignmentRecord| (assignment.client_id, assignment.base_version);
        let granted_until = assignments.iter().take(1).map(granted).collect();
        let clocks = StartClocks { first: self.chance.below(3), granted_until };
        let given = same!(self, assign(&record, &assignments, &clocks));
        self.reached.assigned += given.map_or(0, |()| assignments.len());
        Ok(())
    }

    pub async fn accept(&mut self, id: AssignmentId) -> Result<(), String> {
        let count = self.chance.below(20);
        // These values of the round and version must be ignored.
        let update = AcceptedUpdate {
            assignment_id: id,
            round_id: round_record(organisation(0), task(0), 1, Purpose::Training, self.selecting()).round.id,
            base_version: 77,
            digest: UpdateDigest::of(&[u8::from(self.chance.happens(30))]),
            bytes: 4 + count,
            codec: "float32".into(),
            weight: if self.chance.happens(2) { u64::MAX } else { count },
            metrics: metrics(count),
            accepted_at: self.now,
            place: None,
            held: None,
        };
        let outcome = same!(self, accept_update(&update));
        self.reached.accepted += usize::from(matches!(outcome, Ok(AcceptOutcome::Accepted)));
        Ok(())
    }

    fn selecting(&self) -> Phase {
        Phase::Selecting { since: self.now }
    }

    async fn close(&mut self, mut record: RoundRecord) -> Result<(), String> {
        let updates = same!(self, accepted_updates(record.round.id)).map_err(|error| error.to_string())?;
        let accepted = updates.len() as u64 + u64::from(self.chance.happens(10));
        if self.chance.happens(95) {
            record.round.phase = Phase::Aggregating { since: self.now, cohort: 9, accepted };
        }
        let rest = self.chance.one_of(&[Rest::Expires, Rest::GoesOn]);
        let closed = same!(self, close_reporting(&record, rest, self.now));
        self.reached.closed += usize::from(closed.is_ok());
        Ok(())
    }

    async fn commit(&mut self, mut record: RoundRecord) -> Result<(), String> {
        let id = record.round.task_id;
        if record.round.purpose == Purpose::Evaluation {
            record.round.phase = Phase::Evaluated { at: self.now, cohort: 9, accepted: 1 };
            let evaluations = [self.evaluation(id, ""), self.evaluation(id, "os=linux")];
            let _ = same!(self, end_evaluation(&record, &evaluations));
            return Ok(());
        }
        let (_, committed) = same!(self, round_counts(id)).map_err(|error| error.to_string())?;
        let number = committed + 1 - u64::from(self.chance.happens(5));
        let version = version(id, number, Some(record.round.id), self.now);
        record.round.phase = Phase::Committed { at: self.now, cohort: 9, accepted: 1, version: number };
        let mut next = self.new_round(id).await?;
        next.round.purpose = Purpose::Training;
        let under_way = same!(self, outstanding(id)).map_err(|error| error.to_string())?;
        let mut dropped: Vec<AssignmentId> = under_way.into_iter().map(|one| one.assignment_id).collect();
        dropped.retain(|_| self.chance.happens(30));
        if self.chance.happens(5) {
            dropped.push(AssignmentId::from_random_bytes([0xee; 16]));
        }
        let completed = TaskState::Completed { reason: StopReason::Rounds };
        let commit = RoundCommit {
            record: &record,
            version: &version,
            task_state: self.chance.happens(5).then_some(completed),
            next: self.chance.happens(60).then_some(&next),
            dropped: &dropped,
            leave: None,
            now: self.now,
        };
        let done = same!(self, commit_round(&commit));
        self.reached.committed += usize::from(done.is_ok());
        Ok(())
    }

    pub async fn evaluate(&mut self) -> Result<(), String> {
        let id = task(self.chance.below(TASKS));
        let evaluation = self.evaluation(id, "");
        let _ = same!(self, record_evaluation(&evaluation));
        Ok(())
    }

    fn evaluation(&mut self, id: folkmoot_protocol::TaskId, slice: &str) -> EvaluationRecord {
        EvaluationRecord {
            organisation_id: organisation(self.chance.below(2)),
            task_id: id,
            version: self.chance.below(4),
            source: self.chance.one_of(&[EvaluationSource::Central, EvaluationSource::Federated]),
            slice: slice.into(),
            client_count: self.chance.below(9),
            metrics: metrics(3),
            values: MetricValues::new([(Metric::R2, self.chance.happens(50).then_some(0.375))]),
            classes: self.chance.happens(50).then(ClassReport::default),
            created_at: self.now,
        }
    }
}
