//! Test rounds: their cohorts, the outcomes of their assignments, and their versions.

use folkmoot_coordinator::{
    participation::StartClocks,
    privacy::PopulationPrivacy,
    round::{Phase, Purpose, Round},
    task::Candidate,
};
use folkmoot_privacy::{
    NoiseMultiplier, Relation,
    ledger::{Charge, Participation},
};
use folkmoot_protocol::{
    AssignmentId, ClientId, ErrorCode, RoundId, Timestamp, UpdateDigest,
    messages::{AbortReason, ReportRequest},
    update::UpdateMetrics,
};
use folkmoot_storage::{
    AcceptOutcome, AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus, CheckInRecord,
    CheckInRepository, DropReason, Leave, LedgerRepository, ModelVersionRecord, ModelVersionRepository, Rest,
    RoundCommit, RoundRecord, RoundRepository, Storage, TaskRecord, VersionMaking,
};

use super::content::bytes;

const WORKS: &str = "made-up content is stored";

/// The outcome of an assignment.
#[derive(Clone, Copy)]
pub enum Fate {
    /// Its update was accepted. If `true`, the client reported its training time.
    Accepted(bool),
    /// The client aborted it.
    Aborted,
    /// Its update was refused.
    Refused,
    /// It is still open.
    Outstanding,
}

/// A round of a task. The n-th fate belongs to the n-th client.
pub struct Story<'a> {
    pub storage: &'a Storage,
    pub task: &'a TaskRecord,
    pub number: u64,
    pub at: Timestamp,
    pub fates: &'a [Fate],
}

/// Returns the id of a client, counted from 0.
pub fn client(index: usize) -> ClientId {
    ClientId::from_random_bytes(bytes(0x10 + index as u16))
}

/// Checks a client in.
pub async fn check_in(storage: &Storage, task: &TaskRecord, index: usize, at: Timestamp) {
    let network = if index.is_multiple_of(2) { "wifi" } else { "4g" };
    let check_in = CheckInRecord {
        organisation_id: task.organisation_id,
        population: task.description.population.clone(),
        candidate: Candidate {
            client_id: client(index),
            example_count: 100 + 100 * index as u64,
            attributes: [("network".into(), network.into()), ("platform".into(), "android".into())].into(),
            sdk_version: "1.2.3".into(),
        },
        at,
        expires_at: at.plus_seconds(60),
    };
    assert!(storage.check_in(&check_in).await.expect(WORKS), "the client has an assignment");
}

impl Story<'_> {
    /// Returns the round's id, which is made of the task's and the round's numbers.
    pub fn id(&self) -> RoundId {
        RoundId::from_random_bytes(bytes(self.first_number()))
    }

    fn first_number(&self) -> u16 {
        u16::from(self.task.id.as_bytes()[15]) * 0x1000 + self.number as u16 * 0x10
    }

    fn cohort(&self) -> u64 {
        self.fates.len() as u64
    }

    /// Opens the round, creates its assignments and applies their fates.
    pub async fn open(&self) -> RoundRecord {
        let round = Round {
            id: self.id(),
            task_id: self.task.id,
            number: self.number,
            purpose: Purpose::Training,
            base_version: self.number - 1,
            phase: Phase::Selecting { since: self.at },
        };
        let mut record = RoundRecord {
            organisation_id: self.task.organisation_id,
            round,
            updates_max: None,
            created_at: self.at,
            revision: 0,
        };
        self.storage.open_round(&record).await.expect(WORKS);
        for index in 0..self.fates.len() {
            check_in(self.storage, self.task, index, self.at).await;
        }
        let since = self.at.plus_seconds(10);
        record.round.phase = Phase::Reporting { since, cohort: self.cohort(), asked: None };
        let assignments: Vec<AssignmentRecord> =
            (0..self.fates.len()).map(|index| self.assignment(&record, index, since)).collect();
        self.storage.assign(&record, &assignments, &StartClocks::default()).await.expect(WORKS);
        record.revision += 1;
        for (assignment, fate) in assignments.iter().zip(self.fates) {
            self.meet(assignment, *fate).await;
        }
        record
    }

    /// Commits an open round. Its version has the same weights as the previous one. A private task is charged for it.
    pub async fn commit(&self, mut record: RoundRecord) {
        let at = self.at.plus_seconds(60);
        let accepted = self.fates.iter().filter(|fate| matches!(fate, Fate::Accepted(_))).count() as u64;
        record.round.phase = Phase::Aggregating { since: at, cohort: self.cohort(), accepted };
        self.storage.close_reporting(&record, Rest::Expires, at).await.expect(WORKS);
        record.revision += 1;
        record.round.phase = Phase::Committed { at, cohort: self.cohort(), accepted, version: self.number };
        let before = self.storage.latest_model_version(self.task.id).await.expect(WORKS).expect(WORKS);
        let is_private = !self.task.description.privacy.is_none();
        let metrics = UpdateMetrics {
            example_count: 100 * accepted,
            loss_sum: 100.0 * accepted as f64 / self.number as f64,
            correct_count: 20 * accepted * self.number,
            step_count: 7 * accepted,
        };
        let version = ModelVersionRecord {
            number: self.number,
            round_id: Some(record.round.id),
            metrics: if is_private { UpdateMetrics::default() } else { metrics },
            making: VersionMaking { change_norm: 0.5, ..before.making },
            created_at: at,
            ..before
        };
        let charge = Charge {
            noise_multiplier: NoiseMultiplier::new(1.5, Relation::ZeroOut).expect("it is in range"),
            participation: Participation::AtMost { count: 2 },
        };
        let (organisation_id, population) = (self.task.organisation_id, &self.task.description.population);
        let entries = self.storage.ledger_sum(organisation_id, population).await.expect(WORKS).entries;
        let leave =
            Leave { population, privacy: PopulationPrivacy::default(), entries, charge: Some(&charge) };
        let commit = RoundCommit {
            record: &record,
            version: &version,
            task_state: None,
            next: None,
            dropped: &[],
            leave: Some(leave).filter(|_| is_private),
            now: at,
        };
        self.storage.commit_round(&commit).await.expect(WORKS);
    }

    fn assignment(&self, record: &RoundRecord, index: usize, at: Timestamp) -> AssignmentRecord {
        let network = if index.is_multiple_of(2) { "wifi" } else { "4g" };
        AssignmentRecord {
            id: AssignmentId::from_random_bytes(bytes(self.first_number() + 1 + index as u16)),
            organisation_id: self.task.organisation_id,
            task_id: self.task.id,
            round_id: record.round.id,
            round_number: self.number,
            purpose: Purpose::Training,
            client_id: client(index),
            base_version: record.round.base_version,
            created_at: at,
            deadline: at.plus_seconds(600),
            slices: [("network".into(), network.into())].into(),
            status: AssignmentStatus::Outstanding,
        }
    }

    async fn meet(&self, assignment: &AssignmentRecord, fate: Fate) {
        let closed_at = assignment.created_at.plus_seconds(20);
        let reason = match fate {
            Fate::Outstanding => return,
            Fate::Accepted(is_reported) => return self.accept(assignment, is_reported, closed_at).await,
            Fate::Aborted => {
                DropReason::Aborted { reason: AbortReason::ConditionsEnded, detail: "no charge".into() }
            }
            Fate::Refused => DropReason::Refused { code: ErrorCode::UpdateMalformed },
        };
        self.storage.drop_assignment(assignment.id, &reason, closed_at).await.expect(WORKS);
    }

    async fn accept(&self, assignment: &AssignmentRecord, is_reported: bool, accepted_at: Timestamp) {
        let update = AcceptedUpdate {
            assignment_id: assignment.id,
            round_id: assignment.round_id,
            base_version: assignment.base_version,
            digest: UpdateDigest::of(assignment.id.as_bytes()),
            bytes: 188,
            codec: "none".into(),
            weight: 100,
            metrics: UpdateMetrics { example_count: 100, loss_sum: 50.0, correct_count: 60, step_count: 7 },
            accepted_at,
            place: None,
            held: None,
        };
        let outcome = self.storage.accept_update(&update).await.expect(WORKS);
        assert_eq!(outcome, AcceptOutcome::Accepted);
        if is_reported {
            let report =
                ReportRequest { training_milliseconds: 2_500, download_bytes: 60, upload_bytes: 188 };
            self.storage.record_report(assignment.id, &report, accepted_at).await.expect(WORKS);
        }
    }
}
