//! Fills populations with activity: clients that wait for a round, sent updates, evaluated a version, or failed.

use folkmoot_aggregation::anomaly::{CommitScores, UpdateScore};
use folkmoot_api::tokens::CreateTokenRequest;
use folkmoot_coordinator::{
    ClientKind,
    participation::StartClocks,
    round::{Phase, Purpose, Round},
    task::{Candidate, TaskDescription, TaskState},
};
use folkmoot_protocol::{
    AssignmentId, ClassMetrics, ClassReport, ClientId, ErrorCode, MetricValues, PopulationName, RoundId,
    TaskId, Timestamp, UpdateDigest, messages::ReportRequest, update::UpdateMetrics,
};
use folkmoot_rounds::clock::system_clock;
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus, CheckInRecord,
    CheckInRepository, ClientRepository, DropReason, EvaluationRecord, EvaluationRepository,
    EvaluationSource, LeaseRepository, ModelVersionRecord, ModelVersionRepository, Rest, RoundCommit,
    RoundRecord, RoundRepository, Storage, TaskRepository, VersionMaking,
};

use crate::admin::{Running, model};

/// The number of clients per round. The last one's update is refused.
const CLIENTS: u8 = 4;
/// The metrics of every update.
const METRICS: UpdateMetrics =
    UpdateMetrics { example_count: 12, loss_sum: 6.0, correct_count: 9, step_count: 2 };
/// The predictions of a class.
const CLASS: ClassMetrics = ClassMetrics {
    class: 0,
    label_count: 12,
    predicted_count: 9,
    precision: Some(1.0),
    recall: Some(0.75),
    f1: Some(0.5),
};
/// The size of an update, in bytes.
pub(super) const UPDATE_BYTES: u64 = 112;
/// The number of accepted updates per round.
pub(super) const UPDATES: u64 = CLIENTS as u64 - 1;

/// A generator of unique ids.
pub(super) struct Ids(u128);

impl Ids {
    pub(super) fn new() -> Self {
        Self(0)
    }

    fn next(&mut self) -> [u8; 16] {
        self.0 += 1;
        self.0.to_be_bytes()
    }
}

/// A task with a finished round.
pub(in crate::admin) struct Filled {
    pub(in crate::admin) task: TaskId,
    pub(in crate::admin) round: RoundId,
    /// The id of the token with which the task's clients enrolled.
    pub(in crate::admin) token: String,
    /// One of the clients that enrolled with the token.
    pub(in crate::admin) client: ClientId,
}

/// Runs a task through one round by hand, without drivers, and leaves it paused.
pub(super) async fn fill(running: &Running, ids: &mut Ids, description: TaskDescription) -> Filled {
    let admin = running.admin();
    let population = description.population.clone();
    let brought = admin.create_model(model()).await.unwrap().model;
    let task = admin.create_task(description, brought, false).await.unwrap().id;
    let storage = &running.host.coordinator.storage;
    let now = system_clock()();
    let until = now.plus_seconds(86_400);
    let is_ours = storage.acquire_lease(&format!("task/{task}"), "this test", now, until).await.unwrap();
    assert!(is_ours, "no driver has seen the draft");
    let (token, clients) = enrol(running, ids, &population).await;
    let round = train(running, ids, task, &population, &clients, now).await;
    storage.set_task_state(task, TaskState::PAUSED, 0).await.unwrap();
    measure(running, task, now).await;
    let client = clients[0];
    for client_id in clients {
        wait(storage, running, &population, client_id, now).await;
    }
    Filled { task, round, token, client }
}

async fn enrol(running: &Running, ids: &mut Ids, population: &PopulationName) -> (String, Vec<ClientId>) {
    let admin = running.admin();
    // Operators see more of sites than of a crowd.
    admin.set_client_kind(population, ClientKind::Sites).await.unwrap();
    let name = Some("a site".parse().unwrap());
    let uses_max = Some(100);
    let request = CreateTokenRequest { name, uses_max, ..CreateTokenRequest::of(population.clone()) };
    let token = admin.create_token_from(&request).await.unwrap().record.id;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let id = ClientId::from_random_bytes(ids.next());
        let now = system_clock()();
        running.host.coordinator.storage.enrol(&token, &id.to_string(), id, now).await.unwrap();
        clients.push(id);
    }
    (token, clients)
}

async fn wait(
    storage: &Storage,
    running: &Running,
    population: &PopulationName,
    client_id: ClientId,
    now: Timestamp,
) {
    let check_in = CheckInRecord {
        organisation_id: running.host.organisation,
        population: population.clone(),
        candidate: Candidate {
            client_id,
            example_count: 12,
            attributes: [("os".into(), "linux".into())].into(),
            sdk_version: "1.2.3".into(),
        },
        at: now,
        expires_at: now.plus_seconds(3_600),
    };
    assert!(storage.check_in(&check_in).await.unwrap());
}

async fn train(
    running: &Running,
    ids: &mut Ids,
    task_id: TaskId,
    population: &PopulationName,
    clients: &[ClientId],
    now: Timestamp,
) -> RoundId {
    let (storage, organisation_id) = (&running.host.coordinator.storage, running.host.organisation);
    let id = RoundId::from_random_bytes(ids.next());
    let phase = Phase::Selecting { since: now };
    let round = Round { id, task_id, number: 1, purpose: Purpose::Training, base_version: 0, phase };
    let record = RoundRecord { organisation_id, round, updates_max: None, created_at: now, revision: 0 };
    storage.open_round(&record).await.unwrap();
    let mut assignments = Vec::new();
    for client_id in clients {
        wait(storage, running, population, *client_id, now).await;
        assignments.push(AssignmentRecord {
            id: AssignmentId::from_random_bytes(ids.next()),
            organisation_id,
            task_id,
            round_id: id,
            round_number: 1,
            purpose: Purpose::Training,
            client_id: *client_id,
            base_version: 0,
            created_at: now,
            deadline: now.plus_seconds(600),
            slices: [("network".into(), "wifi".into())].into(),
            status: AssignmentStatus::Outstanding,
        });
    }
    let cohort = CLIENTS.into();
    let record = in_phase(record, Phase::Reporting { since: now, cohort, asked: None });
    storage.assign(&record, &assignments, &StartClocks::default()).await.unwrap();
    report(storage, &assignments, now).await;
    let record = stored(in_phase(record, Phase::Aggregating { since: now, cohort, accepted: UPDATES }));
    storage.close_reporting(&record, Rest::Expires, now).await.unwrap();
    let record =
        stored(in_phase(record, Phase::Committed { at: now, cohort, accepted: UPDATES, version: 1 }));
    let first = storage.model_version(task_id, 0).await.unwrap().unwrap();
    let score = UpdateScore { norm_ratio: 4.1, cosine: 0.5, length_score: 7.0, direction_score: 0.0 };
    let most_unusual = vec![(assignments[0].id, score)];
    let scores = CommitScores { updates: UPDATES, unusual: 1, cosine_median: 0.5, most_unusual };
    let making = VersionMaking { change_norm: 0.5, scores: Some(scores), ..VersionMaking::default() };
    let version = ModelVersionRecord {
        number: 1,
        round_id: Some(id),
        metrics: METRICS,
        making,
        created_at: now,
        ..first
    };
    let commit = RoundCommit {
        record: &record,
        version: &version,
        task_state: None,
        next: None,
        dropped: &[],
        leave: None,
        now,
    };
    storage.commit_round(&commit).await.unwrap();
    id
}

/// All clients send an update and a report, except the last one, whose update is refused.
async fn report(storage: &Storage, assignments: &[AssignmentRecord], now: Timestamp) {
    let (refused, accepted) = assignments.split_last().expect("there are clients");
    for assignment in accepted {
        let update = AcceptedUpdate {
            assignment_id: assignment.id,
            round_id: assignment.round_id,
            base_version: 0,
            digest: UpdateDigest::of(assignment.id.as_bytes()),
            bytes: UPDATE_BYTES,
            codec: "float32".into(),
            weight: 1,
            metrics: METRICS,
            accepted_at: now,
            place: None,
            held: None,
        };
        storage.accept_update(&update).await.unwrap();
        let report = ReportRequest { training_milliseconds: 250, download_bytes: 7, upload_bytes: 9 };
        storage.record_report(assignment.id, &report, now).await.unwrap();
    }
    let reason = DropReason::Refused { code: ErrorCode::UpdateValueNotFinite };
    storage.drop_assignment(refused.id, &reason, now).await.unwrap();
}

/// Records three evaluations of version 1: on the operator's examples, on all clients, and on a slice.
async fn measure(running: &Running, task_id: TaskId, now: Timestamp) {
    use EvaluationSource::{Central, Federated};
    for (source, slice) in [(Central, ""), (Federated, ""), (Federated, "os=linux")] {
        let evaluation = EvaluationRecord {
            organisation_id: running.host.organisation,
            task_id,
            version: 1,
            source,
            slice: slice.into(),
            client_count: UPDATES,
            metrics: METRICS,
            values: MetricValues::default(),
            classes: slice.is_empty().then(|| ClassReport { classes: vec![CLASS], confusion: vec![vec![9]] }),
            created_at: now,
        };
        running.host.coordinator.storage.record_evaluation(&evaluation).await.unwrap();
    }
}

fn in_phase(record: RoundRecord, phase: Phase) -> RoundRecord {
    RoundRecord { round: Round { phase, ..record.round }, ..record }
}

fn stored(record: RoundRecord) -> RoundRecord {
    RoundRecord { revision: record.revision + 1, ..record }
}
