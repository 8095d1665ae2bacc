//! A fixture for test cases: an organisation with clients, a task and rounds.

use std::sync::atomic::{AtomicU64, Ordering};

use folkmoot_coordinator::{
    participation::StartClocks,
    privacy::PopulationPrivacy,
    round::{Phase, Purpose, Round},
    task::{Candidate, TaskDescription, TaskState},
};
use folkmoot_protocol::{
    AssignmentId, BlobDigest, ClientId, OrganisationId, PopulationName, RoundId, TaskId, TensorSchema,
    TensorSpec, Timestamp, UpdateDigest, messages::Artifact, update::UpdateMetrics,
};

use folkmoot_objects::UpdatePlace;
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRecord, AssignmentStatus, CheckInRecord, CheckInRepository, ClientRepository,
    EnrolOutcome, ModelVersionRecord, PopulationRepository, PrivacyChange, PrivacyOutcome, RoundCommit,
    RoundRecord, RoundRepository, Storage, StorageError, TaskRecord, TaskRepository, TokenRecord,
    TokenRepository, VersionMaking,
};

/// The start time of all cases.
pub(super) const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// A separate organisation, with a population and an enrolment token.
pub(super) struct Fixture {
    pub(super) storage: Storage,
    pub(super) organisation_id: OrganisationId,
    pub(super) population: PopulationName,
    pub(super) token_id: String,
}

/// Returns 16 bytes that no other call in this process returns.
pub(super) fn fresh() -> [u8; 16] {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let digest = BlobDigest::of(&count.to_le_bytes());
    std::array::from_fn(|index| digest.as_bytes()[index])
}

/// Returns a new public part for a token or key.
pub(super) fn fresh_name() -> String {
    fresh()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn later(seconds: u64) -> Timestamp {
    NOW.plus_seconds(seconds)
}

impl Fixture {
    pub(super) async fn new(storage: &Storage) -> Result<Fixture, StorageError> {
        let name = format!("organisation {}", fresh_name());
        let id_if_new = OrganisationId::from_random_bytes(fresh());
        let organisation_id = storage.ensure_organisation(&name, id_if_new, NOW).await?;
        let population: PopulationName = "digits".parse().expect("it is a population's name");
        storage.ensure_population(organisation_id, &population, NOW).await?;
        let mut fixture =
            Fixture { storage: storage.clone(), organisation_id, population, token_id: String::new() };
        fixture.token_id = fixture.token(None, None).await?;
        Ok(fixture)
    }

    /// Stores a token and returns its id.
    pub(super) async fn token(
        &self,
        uses_max: Option<u64>,
        expires_at: Option<Timestamp>,
    ) -> Result<String, StorageError> {
        let token = TokenRecord { uses_max, expires_at, ..self.token_record() };
        self.storage.create_token(&token).await?;
        Ok(token.id)
    }

    pub(super) fn token_record(&self) -> TokenRecord {
        TokenRecord {
            secret_hash: [7; 32],
            ..TokenRecord::unlimited(fresh_name(), self.organisation_id, self.population.clone(), NOW)
        }
    }

    pub(super) async fn client(&self) -> Result<ClientId, StorageError> {
        let id = ClientId::from_random_bytes(fresh());
        let outcome = self.storage.enrol(&self.token_id, &fresh_name(), id, NOW).await?;
        assert!(matches!(outcome, EnrolOutcome::Enrolled(_)), "{outcome:?}");
        Ok(id)
    }

    pub(super) fn check_in_of(&self, client_id: ClientId) -> CheckInRecord {
        CheckInRecord {
            organisation_id: self.organisation_id,
            population: self.population.clone(),
            candidate: Candidate {
                client_id,
                example_count: 12,
                attributes: [("os".into(), "linux".into())].into(),
                sdk_version: "1.2.3".into(),
            },
            at: NOW,
            expires_at: later(60),
        }
    }

    /// Enrols clients and puts them into the pool.
    pub(super) async fn waiting_clients(&self, count: usize) -> Result<Vec<ClientId>, StorageError> {
        let mut clients = Vec::new();
        for _ in 0..count {
            let client_id = self.client().await?;
            assert!(self.storage.check_in(&self.check_in_of(client_id)).await?);
            clients.push(client_id);
        }
        Ok(clients)
    }

    pub(super) fn task_record(&self) -> TaskRecord {
        TaskRecord {
            id: TaskId::from_random_bytes(fresh()),
            organisation_id: self.organisation_id,
            description: description(&self.population),
            state: TaskState::Draft,
            model: BlobDigest::of(b"model"),
            model_bytes: 5,
            schema: schema(),
            plan: BlobDigest::of(b"plan"),
            plan_bytes: 4,
            evaluation_plan: Some(Artifact { digest: BlobDigest::of(b"evaluation"), bytes: 10 }),
            evaluation_data: Some(BlobDigest::of(b"examples")),
            served: 0,
            created_at: NOW,
            revision: 0,
        }
    }

    /// Sets the population's privacy.
    pub(super) async fn set_privacy(
        &self,
        privacy: PopulationPrivacy,
        weakened: Option<&str>,
    ) -> Result<PrivacyOutcome, StorageError> {
        let change = change_of(privacy, weakened);
        self.storage.set_population_privacy(self.organisation_id, &self.population, &change).await
    }

    /// Stores a task with its version 0.
    pub(super) async fn task(&self) -> Result<TaskRecord, StorageError> {
        let task = self.task_record();
        self.storage.create_task(&task, &version_of(task.id, 0)).await?;
        Ok(task)
    }

    pub(super) fn round_record(&self, task_id: TaskId, number: u64) -> RoundRecord {
        let id = RoundId::from_random_bytes(fresh());
        let round = Round {
            id,
            task_id,
            number,
            purpose: Purpose::Training,
            base_version: number - 1,
            phase: Phase::Selecting { since: NOW },
        };
        let organisation_id = self.organisation_id;
        RoundRecord { organisation_id, round, updates_max: None, created_at: NOW, revision: 0 }
    }

    pub(super) async fn open_round(&self, task_id: TaskId, number: u64) -> Result<RoundRecord, StorageError> {
        let record = self.round_record(task_id, number);
        self.storage.open_round(&record).await?;
        Ok(record)
    }

    /// Opens the first round of a new task, with an assignment for each of `count` new clients.
    pub(super) async fn reporting(
        &self,
        count: usize,
    ) -> Result<(RoundRecord, Vec<AssignmentRecord>), StorageError> {
        let task = self.task().await?;
        let record = self.open_round(task.id, 1).await?;
        let clients = self.waiting_clients(count).await?;
        let assignments = self.assignments_of(&record, &clients);
        let record = reporting(record, count as u64);
        self.storage.assign(&record, &assignments, &StartClocks::default()).await?;
        Ok((stored(record), assignments))
    }

    pub(super) fn assignments_of(&self, record: &RoundRecord, clients: &[ClientId]) -> Vec<AssignmentRecord> {
        let assign = |&client_id| AssignmentRecord {
            id: AssignmentId::from_random_bytes(fresh()),
            organisation_id: self.organisation_id,
            task_id: record.round.task_id,
            round_id: record.round.id,
            round_number: record.round.number,
            purpose: record.round.purpose,
            client_id,
            base_version: record.round.base_version,
            created_at: NOW,
            deadline: later(600),
            slices: [("os".into(), "linux".into())].into(),
            status: AssignmentStatus::Outstanding,
        };
        let mut assignments: Vec<AssignmentRecord> = clients.iter().map(assign).collect();
        assignments.sort_by_key(|assignment| assignment.id);
        assignments
    }
}

pub(super) fn change_of(privacy: PopulationPrivacy, weakened: Option<&str>) -> PrivacyChange<'_> {
    PrivacyChange { privacy, weakened, may_weaken: true, by: "key", now: NOW }
}

/// Returns the record with the revision that it has after one more change was stored.
pub(super) fn stored(record: RoundRecord) -> RoundRecord {
    RoundRecord { revision: record.revision + 1, ..record }
}

pub(super) fn with_phase(mut record: RoundRecord, phase: Phase) -> RoundRecord {
    record.round.phase = phase;
    record
}

pub(super) fn reporting(record: RoundRecord, cohort: u64) -> RoundRecord {
    with_phase(record, Phase::Reporting { since: NOW, cohort, asked: None })
}

pub(super) fn aggregating(record: RoundRecord, accepted: u64) -> RoundRecord {
    with_phase(record, Phase::Aggregating { since: later(1), cohort: 3, accepted })
}

pub(super) fn committed(record: RoundRecord, version: u64) -> RoundRecord {
    with_phase(record, Phase::Committed { at: later(2), cohort: 3, accepted: 2, version })
}

pub(super) fn version_of(task_id: TaskId, number: u64) -> ModelVersionRecord {
    let metrics =
        UpdateMetrics { example_count: number * 100, loss_sum: 0.1, correct_count: number, step_count: 3 };
    let weights = BlobDigest::of(&number.to_le_bytes());
    ModelVersionRecord {
        task_id,
        number,
        round_id: None,
        weights,
        weights_bytes: 16,
        metrics,
        making: VersionMaking { change_norm: 0.1, staleness_max: number, ..VersionMaking::default() },
        created_at: NOW,
        dropped_at: None,
    }
}

/// Returns a commit after which no round follows.
pub(super) fn commit_of<'a>(
    record: &'a RoundRecord,
    version: &'a ModelVersionRecord,
    task_state: Option<TaskState>,
) -> RoundCommit<'a> {
    RoundCommit { record, version, task_state, next: None, dropped: &[], leave: None, now: NOW }
}

pub(super) fn update_of(assignment: &AssignmentRecord) -> AcceptedUpdate {
    AcceptedUpdate {
        assignment_id: assignment.id,
        round_id: assignment.round_id,
        base_version: assignment.base_version,
        digest: UpdateDigest::of(assignment.id.as_bytes()),
        bytes: 4_000_000,
        codec: "eden:4".into(),
        weight: 12,
        metrics: UpdateMetrics { example_count: 12, loss_sum: 1.0 / 3.0, correct_count: 7, step_count: 2 },
        accepted_at: later(1),
        place: Some(UpdatePlace {
            process: "one".into(),
            object: "a round/one-7".into(),
            offset: 12,
            bytes: 4_000_096,
            digest: UpdateDigest::of(b"the log"),
        }),
        held: None,
    }
}

pub(super) fn schema() -> TensorSchema {
    let tensors = vec![TensorSpec { name: "weight".into(), shape: vec![2, 2] }];
    TensorSchema { tensors }
}

/// Returns a description with floats that would change if they were stored with too few digits.
fn description(population: &PopulationName) -> TaskDescription {
    let text = format!(
        r#"{{"name": "digits", "population": "{population}",
            "plan": {{"loss": "softmax_cross_entropy", "optimizer": {{"sgd": {{"learning_rate": 0.1}}}},
                      "epochs": 1, "batch_size": 16}},
            "eligibility": {{"minimum_examples": 3, "attributes": {{"os": "linux"}}}},
            "scheduling": {{"kind": "synchronous", "report_goal": 8, "over_selection_factor": 1.3000000000000003}},
            "stop": {{"rounds": 30}}}}"#
    );
    serde_json::from_str(&text).expect("it is a description")
}
