//! A round whose messages are read from the database once, however often the driver looks.

use std::collections::BTreeMap;

use crate::{Exchange, Transcripts};
use folkmoot_coordinator::{
    participation::StartClocks,
    round::{Phase, Purpose, Round, SecureStep},
    task::{Candidate, TaskDescription, TaskState},
};
use folkmoot_protocol::{
    AssignmentId, BlobDigest, ClientId, OrganisationId, PopulationName, RoundId, TaskId, TensorSchema,
    Timestamp, UpdateDigest,
    secure::{SecureAnswered, SecureMessage, SecureProgress},
    update::UpdateMetrics,
};
use folkmoot_secure_aggregation::{Context, Draft, Journal, Policy, Setting};
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRecord, AssignmentRepository, AssignmentStatus, CheckInRecord,
    CheckInRepository, ClientRepository, MemoryStorage, ModelVersionRecord, PopulationRepository,
    RecordOutcome, Rest, RoundRecord, RoundRepository, SecureRepository, Storage, TaskRecord, TaskRepository,
    TokenRecord, TokenRepository, VersionMaking,
};

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const MEMBERS: usize = 20;
const WEIGHTS: [u8; 7] = *b"weights";
const DEVICE_KEY: [u8; 32] = [7; 32];

/// A round of one task, with the journals of its members.
struct Room {
    storage: Storage,
    task: TaskRecord,
    record: RoundRecord,
    members: BTreeMap<AssignmentId, Journal>,
}

impl Room {
    async fn new() -> Self {
        let storage = Storage::from(MemoryStorage::default());
        let population: PopulationName = "digits".parse().unwrap();
        let organisation_id = storage
            .ensure_organisation("one", OrganisationId::from_random_bytes([1; 16]), NOW)
            .await
            .unwrap();
        storage.ensure_population(organisation_id, &population, NOW).await.unwrap();
        let token = TokenRecord::unlimited("token", organisation_id, population, NOW);
        storage.create_token(&token).await.unwrap();
        let task = task(organisation_id);
        let making = VersionMaking::default();
        let version = ModelVersionRecord {
            task_id: task.id,
            number: 0,
            round_id: None,
            weights: BlobDigest::of(&WEIGHTS),
            weights_bytes: 7,
            metrics: UpdateMetrics::default(),
            making,
            created_at: NOW,
            dropped_at: None,
        };
        storage.create_task(&task, &version).await.unwrap();
        let round = Round {
            id: RoundId::from_random_bytes([3; 16]),
            task_id: task.id,
            number: 1,
            purpose: Purpose::Training,
            base_version: 0,
            phase: Phase::Selecting { since: NOW },
        };
        let record = RoundRecord { organisation_id, round, updates_max: None, created_at: NOW, revision: 0 };
        storage.open_round(&record).await.unwrap();
        let mut room = Self { storage, task, record, members: BTreeMap::new() };
        room.assign(&token.id).await;
        room
    }

    async fn assign(&mut self, token: &str) {
        let mut assignments = Vec::new();
        for index in 0..MEMBERS as u8 {
            let client_id = ClientId::from_random_bytes([index; 16]);
            self.storage.enrol(token, &format!("key {index}"), client_id, NOW).await.unwrap();
            assert!(self.storage.check_in(&self.check_in(client_id)).await.unwrap());
            let id = AssignmentId::from_random_bytes([index + 100; 16]);
            self.members.insert(id, Journal::new([index; 32], &DEVICE_KEY, id));
            assignments.push(AssignmentRecord {
                id,
                organisation_id: self.record.organisation_id,
                task_id: self.task.id,
                round_id: self.record.round.id,
                round_number: 1,
                purpose: Purpose::Training,
                client_id,
                base_version: 0,
                created_at: NOW,
                deadline: NOW.plus_seconds(600),
                slices: BTreeMap::new(),
                status: AssignmentStatus::Outstanding,
            });
        }
        let cohort = MEMBERS as u64;
        self.record.round.phase = Phase::AdvertisingKeys { since: NOW, cohort };
        self.storage.assign(&self.record, &assignments, &StartClocks::default()).await.unwrap();
        self.record.revision += 1;
    }

    fn check_in(&self, client_id: ClientId) -> CheckInRecord {
        let (sdk_version, attributes) = ("1.2.3".to_owned(), BTreeMap::new());
        CheckInRecord {
            organisation_id: self.record.organisation_id,
            population: self.task.description.population.clone(),
            candidate: Candidate { client_id, example_count: 12, attributes, sdk_version },
            at: NOW,
            expires_at: NOW.plus_seconds(60),
        }
    }

    fn exchange<'a>(&'a self, transcripts: &'a Transcripts) -> Exchange<'a> {
        let weights = BlobDigest::of(&WEIGHTS);
        Exchange::new(&self.storage, transcripts, &self.task, &self.record, weights).unwrap()
    }

    fn setting(&self, id: AssignmentId) -> Setting {
        let (task, record) = (&self.task, &self.record);
        let weights = BlobDigest::of(&WEIGHTS);
        let context = Context { task_id: task.id, round_id: record.round.id, plan: task.plan, weights };
        let terms = task.description.secure_terms().unwrap();
        Setting { context, terms, assignment_id: id, policy: Policy::default() }
    }

    async fn send(&self, transcripts: &Transcripts, id: AssignmentId, message: &SecureMessage) {
        let step = self.exchange(transcripts).check(id, "", message).await.unwrap();
        let text = serde_json::to_string(message).unwrap();
        let outcome = self.storage.record_secure(id, step, &text, NOW).await.unwrap();
        assert_eq!(outcome, RecordOutcome::Recorded);
    }

    async fn close(&mut self, step: SecureStep, next: Phase) {
        self.record.round.phase = next;
        self.storage.close_step(&self.record, step, NOW).await.unwrap();
        self.record.revision += 1;
    }

    /// Takes the round to the step in which its members open their shares.
    async fn share_and_upload(&mut self, transcripts: &Transcripts) {
        let (since, cohort) = (NOW, MEMBERS as u64);
        let ids: Vec<AssignmentId> = self.members.keys().copied().collect();
        for id in &ids {
            let keys = self.members[id].keys(&self.setting(*id), &DEVICE_KEY);
            self.send(transcripts, *id, &unsigned(keys.unwrap())).await;
        }
        self.close(SecureStep::Keys, Phase::SharingKeys { since, cohort }).await;
        for id in &ids {
            let setting = self.setting(*id);
            let answer = self.exchange(transcripts).progress(*id, SecureAnswered::Keys).await.unwrap();
            let SecureProgress::Roster { roster } = answer else { panic!("the roster answers the keys") };
            let journal = self.members.get_mut(id).unwrap();
            journal.take_roster(&setting, &DEVICE_KEY, roster).unwrap();
            let shares = journal.shares(&setting, &DEVICE_KEY).unwrap();
            self.send(transcripts, *id, &shares).await;
        }
        self.close(SecureStep::Shares, Phase::Reporting { since, cohort, asked: None }).await;
        for id in &ids {
            let setting = self.setting(*id);
            let answer = self.exchange(transcripts).progress(*id, SecureAnswered::Shares).await.unwrap();
            let SecureProgress::Shares { shares } = answer else { panic!("shares answer the shares") };
            self.members.get_mut(id).unwrap().take_shares(&setting, &DEVICE_KEY, shares).unwrap();
            self.storage.accept_update(&update(self.record.round.id, *id)).await.unwrap();
        }
        self.record.round.phase = Phase::Unmasking { since, cohort, accepted: cohort };
        self.storage.close_reporting(&self.record, Rest::Expires, NOW).await.unwrap();
        self.record.revision += 1;
    }

    async fn opening(&mut self, transcripts: &Transcripts, id: AssignmentId) -> SecureMessage {
        let setting = self.setting(id);
        let answer = self.exchange(transcripts).progress(id, SecureAnswered::Update).await.unwrap();
        let SecureProgress::Survivors { survivors } = answer else { panic!("survivors answer the update") };
        let journal = self.members.get_mut(&id).unwrap();
        unsigned(journal.take_survivors(&setting, &DEVICE_KEY, &survivors).unwrap())
    }
}

/// Returns the message of a draft that needs no signature, because the coordinator is honest.
fn unsigned(draft: Draft) -> SecureMessage {
    draft.sign_with(|_| unreachable!())
}

fn task(organisation_id: OrganisationId) -> TaskRecord {
    let text = r#"{"name": "digits", "population": "digits",
        "plan": {"loss": "softmax_cross_entropy", "optimizer": {"sgd": {"learning_rate": 0.1}},
                 "epochs": 1, "batch_size": 16},
        "scheduling": {"kind": "synchronous", "report_goal": 20, "over_selection_factor": 1.0, "minimum_cohort": 10},
        "aggregator": {"kind": "uniform_mean"}, "protection": {"secure_aggregation": {}}, "stop": {"rounds": 3}}"#;
    let description: TaskDescription = serde_json::from_str(text).unwrap();
    assert_eq!(description.validate(), []);
    TaskRecord {
        id: TaskId::from_random_bytes([2; 16]),
        organisation_id,
        description,
        state: TaskState::ACTIVE,
        model: BlobDigest::of(b"model"),
        model_bytes: 5,
        schema: TensorSchema { tensors: Vec::new() },
        plan: BlobDigest::of(b"plan"),
        plan_bytes: 4,
        evaluation_plan: None,
        evaluation_data: None,
        served: 0,
        created_at: NOW,
        revision: 0,
    }
}

fn update(round_id: RoundId, assignment_id: AssignmentId) -> AcceptedUpdate {
    AcceptedUpdate {
        assignment_id,
        round_id,
        base_version: 0,
        digest: UpdateDigest::of(assignment_id.as_bytes()),
        bytes: 100,
        codec: "masked".into(),
        weight: 1,
        metrics: UpdateMetrics::default(),
        accepted_at: NOW,
        place: None,
        held: None,
    }
}

#[tokio::test]
async fn every_message_is_read_once_however_often_the_driver_looks() {
    let mut room = Room::new().await;
    let transcripts = Transcripts::default();
    room.share_and_upload(&transcripts).await;
    let n = MEMBERS as u64;
    assert_eq!(transcripts.read_count(), 2 * n, "the keys and the shares");
    let (ids, round) = (room.members.keys().copied().collect::<Vec<_>>(), room.record.round.id);
    // The number of messages that a driver would read that reads all of them at every look.
    let mut read_again = 0;
    let mut looks = Vec::new();
    for id in ids {
        let opening = room.opening(&transcripts, id).await;
        room.send(&transcripts, id, &opening).await;
        looks.push(room.exchange(&transcripts).is_open().await.unwrap());
        read_again += room.storage.secure_messages(round, SecureStep::Opening).await.unwrap().len() as u64;
    }
    assert!(!looks[0] && looks[MEMBERS - 1], "{looks:?}");
    let masks = room.exchange(&transcripts).masks().await.unwrap();
    assert_eq!(masks.len(), MEMBERS, "one self mask for each member");
    assert_eq!((transcripts.read_count(), read_again), (3 * n, n * (n + 1) / 2));
    // Another process, or this one after a crash, reads everything once more.
    let fresh = Transcripts::default();
    assert_eq!(room.exchange(&fresh).masks().await.unwrap().len(), MEMBERS);
    assert_eq!(fresh.read_count(), 3 * n);
}
