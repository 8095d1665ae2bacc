//! A coordinator with fixed test content: all ids, times and numbers are constants.

use std::{path::Path, sync::Arc, time::Duration};

use folkmoot_coordinator::task::{PauseReason, StopReason, TaskDescription, TaskState};
use folkmoot_protocol::{
    BlobDigest, ClassMetrics, ClassReport, ClientId, Metric, MetricValues, OrganisationId, PopulationName,
    Role, TaskId, Timestamp, update::UpdateMetrics,
};
use folkmoot_rounds::registry;
use folkmoot_service::host::{Host, HostConfig};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, ClientRepository, EnrolOutcome, EvaluationRecord, EvaluationRepository,
    EvaluationSource, LeaseRepository, ModelRecord, ModelVersionRecord, PopulationRepository, Storage,
    TaskRecord, TaskRepository, TokenAfter, TokenRecord, TokenRepository, VersionMaking,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    files::{self, model},
    provider,
    rounds::{Fate, Story, check_in, client},
    signed_in, sites, tenants,
};

/// The coordinator's clock, which stands still: 12:30 UTC on 31 January 2026.
pub const NOW: Timestamp = Timestamp(1_769_862_600_000);
pub const WORKS: &str = "made-up content is stored";
const CLIENTS: usize = 7;
/// The plan of every task. The commands pass it on, and do not read it.
const PLAN: &[u8] = b"plan";

/// Returns 16 bytes for an id: zeros, followed by the number.
pub fn bytes(number: u16) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[14..].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub fn ago(seconds: u64) -> Timestamp {
    Timestamp(NOW.0 - 1_000 * seconds)
}

/// The coordinator, and the folder with the files that commands read and write.
pub struct Stage {
    host: Host,
    folder: TempDir,
    words: Vec<(&'static str, String)>,
}

impl Stage {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("the test has a folder of its own");
        files::write(folder.path());
        // TLS is off, so that no certificate is created. No test depends on ticks.
        let config = HostConfig {
            has_tls: false,
            tick: Duration::from_secs(3_600),
            sign_in: provider::sign_in(NOW).await,
            ..HostConfig::loopback(folder.path().join("data"))
        };
        let chance = ChaCha20Rng::seed_from_u64(1);
        let host = Host::start(config, Arc::new(|| NOW), chance, None).await.expect("the coordinator starts");
        host.coordinator.blobs.put(PLAN.into()).await.expect(WORKS);
        let mut words = fill(&host).await;
        words.push(("LOCALHOST", host.url().replace("127.0.0.1", "localhost")));
        Self { host, folder, words }
    }

    pub async fn stop(self) {
        self.host.stop().await.expect("the coordinator stops in good order");
    }

    pub fn url(&self) -> String {
        self.host.url()
    }

    pub fn api_key(&self) -> &str {
        self.host.first_api_key.as_deref().expect("a new coordinator makes a key")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the value of a placeholder such as `$DIGITS`. Other words are returned unchanged.
    pub fn value<'a>(&'a self, word: &'a str) -> &'a str {
        let Some(name) = word.strip_prefix('$') else { return word };
        let found = self.words.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no word {word} is made up"))
    }
}

/// Stores the content, and returns the placeholders for its ids.
async fn fill(host: &Host) -> Vec<(&'static str, String)> {
    let (storage, organisation) = (&host.coordinator.storage, host.organisation);
    for (name, created_at) in [("digits", ago(90_000)), ("homes", ago(80_000)), ("phones", ago(70_000))] {
        storage.ensure_population(organisation, &population(name), created_at).await.expect(WORKS);
    }
    fill_access(storage, organisation).await;
    sites::fill(storage, organisation, ago(9_000)).await;
    let onnx = model();
    let bytes_max = onnx.len();
    let model = registry::create_model(&host.coordinator, organisation, onnx.into(), bytes_max, ago(60_000));
    let model = model.await.expect("the model can be trained");
    let system_key = tenants::fill(storage).await;
    // Otherwise, the time of the test decides whether lists show that the first key is used.
    let keys = storage.api_keys(organisation).await.expect(WORKS);
    let used: Vec<_> =
        keys.into_iter().filter(|key| key.name == "first key").map(|key| (key.id, NOW)).collect();
    storage.record_key_uses(&used).await.expect(WORKS);
    signed_in::fill(storage, organisation, "0000000000000002").await;
    let tasks = fill_tasks(storage, organisation, &model).await;
    let round = fill_rounds(storage, &tasks).await;
    for index in 3..CLIENTS - 1 {
        check_in(storage, &tasks[0], index, ago(30)).await;
    }
    // Another node holds the leases of all tasks, so no task advances.
    for task in &tasks {
        let lease = format!("task/{}", task.id);
        let until = NOW.plus_seconds(3_600);
        assert!(storage.acquire_lease(&lease, "another-node", NOW, until).await.expect(WORKS));
    }
    let unknown = TaskId::from_random_bytes(bytes(0xffff)).to_string();
    let mut words: Vec<(&'static str, String)> = ["DIGITS", "DRAFT", "SECOND_DRAFT", "PAUSED", "PRIVATE"]
        .into_iter()
        .zip(tasks.iter().map(|task| task.id.to_string()))
        .collect();
    words.extend([
        ("DIGITS@1", format!("{}@1", tasks[0].id)),
        ("UNKNOWN", unknown),
        ("ROUND", round),
        ("CLIENT", client(CLIENTS - 2).to_string()),
        ("MODEL", model.model.to_string()),
        ("NO_MODEL", BlobDigest::of(b"nothing").to_string()),
        ("TOKEN", "0000000000000002".to_owned()),
        ("KEY", "0000000000000002".to_owned()),
        ("SYSTEM_KEY", system_key),
    ]);
    words
}

fn population(name: &str) -> PopulationName {
    name.parse().expect("it is a population's name")
}

/// Creates tokens, clients and keys. The last client is revoked.
async fn fill_access(storage: &Storage, organisation: OrganisationId) {
    let token = |number: u64| {
        TokenRecord::unlimited(
            format!("{number:016x}"),
            organisation,
            population("digits"),
            ago(50_000 - number),
        )
    };
    let limited = TokenRecord { uses_max: Some(10), expires_at: Some(NOW.plus_seconds(86_400)), ..token(2) };
    for token in [token(1), limited] {
        storage.create_token(&token).await.expect(WORKS);
    }
    for index in 0..CLIENTS {
        let (id, public_key): (ClientId, _) = (client(index), format!("key {index}"));
        let enrolled = storage.enrol(&token(1).id, &public_key, id, ago(40_000)).await.expect(WORKS);
        assert!(matches!(enrolled, EnrolOutcome::Enrolled(_)), "{enrolled:?}");
    }
    let revoked = storage.revoke_client(organisation, client(CLIENTS - 1), TokenAfter::Open, ago(3_000));
    revoked.await.expect(WORKS);
    let key = |number: u64, name: &str, role: Role| ApiKeyRecord {
        id: format!("{number:016x}"),
        organisation_id: organisation,
        name: name.to_owned(),
        role,
        secret_hash: [0; 32],
        created_at: ago(50_000 - number),
        expires_at: None,
        revoked_at: (number == 1).then(|| ago(2_000)),
        rotation: None,
        used_at: None,
    };
    for key in [key(1, "old dashboard", Role::Viewer), key(2, "robot", Role::Operator)] {
        storage.create_api_key(&key).await.expect(WORKS);
    }
}

/// Creates the test tasks, in the order of the placeholders for their ids (`$DIGITS` and others).
async fn fill_tasks(storage: &Storage, organisation: OrganisationId, model: &ModelRecord) -> Vec<TaskRecord> {
    let evaluation = json!({ "every_versions": 1, "central": true });
    let privacy = json!({
        "kind": "central", "epsilon": 8.0, "delta": 1e-5, "participations_max": 2,
        "clipping": { "kind": "fixed", "norm": 1.0 },
    });
    let reason = PauseReason::AbandonedRounds { rounds: 20, last_round: 2 };
    let gave_up = TaskState::Paused { reason: Some(reason), after_round: 2 };
    let ended = TaskState::Completed { reason: StopReason::Rounds };
    let tasks = [
        ("digits", "digits", TaskState::ACTIVE, json!({ "evaluation": evaluation })),
        ("next word", "phones", TaskState::Draft, json!({})),
        ("keyboard", "phones", TaskState::Draft, json!({})),
        ("heating", "homes", gave_up, json!({})),
        (
            "private digits",
            "digits",
            ended,
            json!({
                "privacy": privacy, "stop": { "rounds": 2 }, "aggregator": { "kind": "uniform_mean" },
                "scheduling": { "kind": "synchronous", "report_goal": 100 },
            }),
        ),
    ];
    let mut records = Vec::new();
    for (number, (name, population, state, changes)) in (1..).zip(tasks) {
        let task = TaskRecord {
            id: TaskId::from_random_bytes(bytes(number)),
            organisation_id: organisation,
            description: description(name, population, &changes),
            state,
            model: model.model,
            model_bytes: model.model_bytes,
            schema: model.schema.clone(),
            plan: BlobDigest::of(PLAN),
            plan_bytes: 4,
            evaluation_plan: None,
            evaluation_data: None,
            served: 0,
            created_at: ago(30_000 - 1_000 * u64::from(number)),
            revision: 0,
        };
        let version = ModelVersionRecord {
            task_id: task.id,
            number: 0,
            round_id: None,
            weights: model.weights,
            weights_bytes: model.schema.parameter_count() * 4,
            metrics: UpdateMetrics::default(),
            making: VersionMaking::default(),
            created_at: task.created_at,
            dropped_at: None,
        };
        storage.create_task(&task, &version).await.expect(WORKS);
        records.push(task);
    }
    records
}

fn description(name: &str, population: &str, changes: &Value) -> TaskDescription {
    let mut text = json!({
        "name": name,
        "population": population,
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 2 },
        "stop": { "rounds": 30 },
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        text[key] = value.clone();
    }
    let mut description: TaskDescription = serde_json::from_value(text).expect("it is a description");
    assert_eq!(description.validate(), [], "{name}");
    description.settle();
    description
}

/// Stores rounds and evaluations. Returns the id of the round with the most kinds of assignments.
async fn fill_rounds(storage: &Storage, tasks: &[TaskRecord]) -> String {
    use Fate::{Aborted, Accepted, Outstanding, Refused};
    let [digits, _, _, paused, private] = tasks else { panic!("there are five tasks") };
    let story = |task, number, at, fates| Story { storage, task, number, at, fates };
    let full = story(digits, 2, ago(7_000), &[Accepted(true), Accepted(false), Aborted, Refused]);
    let ended = [
        story(digits, 1, ago(10_000), &[Accepted(true), Accepted(true)]),
        full,
        story(paused, 1, ago(9_000), &[Accepted(false)]),
        story(paused, 2, ago(8_000), &[Accepted(false)]),
        story(private, 1, ago(6_000), &[Accepted(true), Accepted(false)]),
        story(private, 2, ago(5_000), &[Accepted(true), Accepted(false)]),
    ];
    for round in &ended {
        let open = round.open().await;
        round.commit(open).await;
    }
    story(digits, 3, ago(60), &[Accepted(false), Outstanding, Aborted]).open().await;
    let measured = [(1, EvaluationSource::Central, ""), (2, EvaluationSource::Central, "")].into_iter();
    let sliced = [(2, EvaluationSource::Federated, ""), (2, EvaluationSource::Federated, "network=wifi")];
    for (version, source, slice) in measured.chain(sliced) {
        let evaluation = EvaluationRecord {
            organisation_id: digits.organisation_id,
            task_id: digits.id,
            version,
            source,
            slice: slice.to_owned(),
            client_count: if source == EvaluationSource::Central { 0 } else { 4 },
            metrics: UpdateMetrics {
                example_count: 200,
                loss_sum: 200.0 / version as f64,
                correct_count: 60 * version,
                step_count: 0,
            },
            values: values(version, source),
            classes: (source == EvaluationSource::Central).then(classes),
            created_at: ago(4_000 - version),
        };
        storage.record_evaluation(&evaluation).await.expect(WORKS);
    }
    ended[1].id().to_string()
}

/// Returns the metrics of the operator's own examples. Of the clients, one is older and reports only loss and accuracy.
fn values(version: u64, source: EvaluationSource) -> MetricValues {
    let own = |value: f64| (source == EvaluationSource::Central).then_some(value * version as f64);
    MetricValues::new([
        (Metric::Accuracy, own(0.3)),
        (Metric::Loss, own(0.25)),
        (Metric::F1Macro, own(0.125)),
        (Metric::RocAuc, own(0.375)),
    ])
}

fn classes() -> ClassReport {
    let class = |class, label_count, predicted_count, precision, recall, f1| ClassMetrics {
        class,
        label_count,
        predicted_count,
        precision,
        recall,
        f1,
    };
    ClassReport {
        classes: vec![
            class(0, 120, 100, Some(0.75), Some(0.625), Some(0.6875)),
            class(1, 80, 100, Some(0.375), Some(0.4375), Some(0.5)),
            class(2, 0, 0, None, None, None),
        ],
        confusion: vec![vec![75, 45, 0], vec![25, 55, 0], vec![0, 0, 0]],
    }
}
