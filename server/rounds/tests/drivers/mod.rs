//! Tests of rounds with privacy amplification by sampling, through the drivers, at moments that a test chooses.

use std::sync::Arc;

use bytes::Bytes;
use folkmoot_api::tasks::CreateTaskRequest;
use folkmoot_coordinator::{
    privacy::PrivacyChoice,
    round::{AbandonReason, Phase},
    task::{TaskInput, TaskState},
};
use folkmoot_engine::onnx::build::mlp;
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{
    ClientId, ErrorCode, OrganisationId, TaskId, Timestamp,
    messages::{Artifact, CheckInRequest, CheckInResponse},
};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{
    coordinator::Coordinator,
    device,
    drivers::drive_task,
    privacy::{Budget, Passed, Standing},
    registry,
};
use folkmoot_storage::{
    ClientRecord, ClientRepository, EnrolOutcome, LedgerRepository, MemoryStorage, ModelVersionRepository,
    PopulationRepository, RoundRecord, RoundRepository, TaskRecord, TaskRepository, TokenRecord,
    TokenRepository,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::{Value, json};

mod evaluation;
mod parts;
mod selection;

const START: Timestamp = Timestamp(1_700_000_000_000);
const CLIENTS: u8 = 12;
const SELECTION_SECONDS: u64 = 30;
const REPORTING_SECONDS: u64 = 60;

/// A coordinator in memory with a task that claims Poisson sampling. Its clients check in but send no updates.
struct World {
    coordinator: Arc<Coordinator>,
    organisation: OrganisationId,
    task: TaskId,
    clients: Vec<ClientRecord>,
}

impl World {
    async fn new() -> Self {
        Self::with(json!({})).await
    }

    /// Creates a world whose task has these additional keys.
    async fn with(keys: Value) -> Self {
        Self::of(keys, &[]).await
    }

    /// Creates a world whose coordinator has these components, and whose task has these additional keys.
    async fn of(keys: Value, components: &[&'static [u8]]) -> Self {
        Self::training(&[4, 3], keys, components).await
    }

    /// Creates a world whose task trains a perceptron of these widths.
    async fn training(widths: &[usize], keys: Value, components: &[&'static [u8]]) -> Self {
        let (blobs, chance) = (BlobStore::in_memory(), ChaCha20Rng::seed_from_u64(1));
        let coordinator = Coordinator::new(MemoryStorage::new(), blobs, RoundLog::in_memory(), chance);
        let storage = &coordinator.storage;
        let organisation = OrganisationId::from_random_bytes([1; 16]);
        let organisation = storage.ensure_organisation("default", organisation, START).await.unwrap();
        let population = "digits".parse().unwrap();
        storage.ensure_population(organisation, &population, START).await.unwrap();
        let token = TokenRecord::unlimited("token", organisation, population, START);
        storage.create_token(&token).await.unwrap();
        let mut clients = Vec::new();
        for number in 1..=CLIENTS {
            let id = ClientId::from_random_bytes([number; 16]);
            let enrolled = storage.enrol("token", &format!("key {number}"), id, START).await.unwrap();
            let EnrolOutcome::Enrolled(record) = enrolled else { panic!("{enrolled:?}") };
            clients.push(record);
        }
        for component in components {
            registry::create_component(&coordinator, Bytes::from_static(component)).await.unwrap();
        }
        let onnx = Bytes::from(mlp(widths, 1));
        let bytes_max = onnx.len();
        let model = registry::create_model(&coordinator, organisation, onnx, bytes_max, START).await.unwrap();
        let mut description = json!({
            "name": "digits",
            "population": "digits",
            "plan": {
                "loss": "softmax_cross_entropy",
                "optimizer": { "sgd": { "learning_rate": 0.1 } },
                "epochs": 1,
                "batch_size": 16,
            },
            "selection": { "kind": "poisson", "sampling_rate": 0.5 },
            "scheduling": {
                "kind": "synchronous", "report_goal": 6, "minimum_cohort": 6,
                "selection_deadline_seconds": SELECTION_SECONDS, "reporting_deadline_seconds": REPORTING_SECONDS,
            },
            "aggregator": { "kind": "uniform_mean" },
            "privacy": {
                "kind": "central", "epsilon": 100.0, "delta": 1e-5, "amplification": "poisson",
                "noise_multiplier": 2.0, "clipping": { "kind": "fixed", "norm": 1.0 },
            },
            "stop": { "rounds": 30 },
        });
        for (key, value) in keys.as_object().unwrap() {
            description[key] = value.clone();
        }
        let request = CreateTaskRequest {
            description: serde_json::from_value(description).unwrap(),
            model: model.model,
            evaluation_data: None,
            warm_start: None,
            activate: true,
        };
        let task = registry::create_task(&coordinator, organisation, request, START).await.unwrap().id;
        Self { coordinator: Arc::new(coordinator), organisation, task, clients }
    }

    /// Lets the first `count` clients check in and runs the drivers, `seconds` after the start.
    async fn drive(&self, seconds: u64, count: u8) {
        let now = START.plus_seconds(seconds);
        for client in &self.clients[..usize::from(count)] {
            let offer = CheckInRequest {
                sdk_version: "1.0.0".into(),
                example_count: 10,
                attributes: [].into(),
                codecs: Vec::new(),
            };
            device::check_in(&self.coordinator, client, &offer, 0, now).await.unwrap();
        }
        // A task that is not completed opens a new round after each round. Stop after the first step that has nothing
        // to do.
        while drive_task(&self.coordinator, self.task, now).await.unwrap() {}
    }

    async fn task(&self) -> TaskRecord {
        self.coordinator.storage.task_of_any_organisation(self.task).await.unwrap().unwrap()
    }

    async fn meet(&self, input: TaskInput) -> TaskState {
        let task = self.task().await;
        let state = task.state.step(input).unwrap();
        self.coordinator.storage.set_task_state(task.id, state, task.revision).await.unwrap();
        state
    }

    /// Lists the rounds, oldest first.
    async fn rounds(&self) -> Vec<RoundRecord> {
        let mut rounds = self.coordinator.storage.rounds(self.task, 100, None).await.unwrap();
        rounds.reverse();
        rounds
    }

    async fn charged(&self) -> u64 {
        let population = "digits".parse().unwrap();
        self.coordinator.storage.ledger_sum(self.organisation, &population).await.unwrap().totals.releases()
    }

    async fn version(&self) -> u64 {
        self.coordinator.storage.latest_model_version(self.task).await.unwrap().unwrap().number
    }
}

#[tokio::test]
async fn a_round_draws_and_ends_by_the_clock_alone() {
    let world = World::new().await;
    world.drive(0, CLIENTS).await;
    world.drive(SELECTION_SECONDS - 1, CLIENTS).await;
    assert_eq!(
        world.rounds().await[0].round.phase.name(),
        "selecting",
        "all wait, and nobody is drawn early"
    );
    world.drive(SELECTION_SECONDS, CLIENTS).await;
    let Phase::Reporting { cohort, .. } = world.rounds().await[0].round.phase else { panic!("it has drawn") };
    assert!((1..u64::from(CLIENTS)).contains(&cohort), "{cohort}");
    world.drive(SELECTION_SECONDS + REPORTING_SECONDS - 1, 0).await;
    assert_eq!(world.rounds().await[0].round.phase.name(), "reporting");
    world.drive(SELECTION_SECONDS + REPORTING_SECONDS, 0).await;
    assert_eq!((world.version().await, world.charged().await), (1, 1), "a version of no update is one");
}

#[tokio::test]
async fn a_draw_that_was_made_is_charged_when_its_task_ends_and_never_made_anew() {
    for input in [TaskInput::Pause, TaskInput::Cancel] {
        let world = World::new().await;
        world.drive(0, CLIENTS).await;
        world.drive(SELECTION_SECONDS, CLIENTS).await;
        let state = world.meet(input).await;
        world.drive(SELECTION_SECONDS + 1, 0).await;
        assert_eq!((world.version().await, world.charged().await), (1, 1), "{state:?}");
        let rounds = world.rounds().await;
        let [RoundRecord { round, .. }] = rounds.as_slice() else { panic!("{rounds:?}") };
        assert!(matches!(round.phase, Phase::Committed { accepted: 0, version: 1, .. }), "{round:?}");
        assert_eq!(world.task().await.state, state);
    }
}

#[tokio::test]
async fn a_round_that_has_not_drawn_is_abandoned_and_costs_nothing() {
    let world = World::new().await;
    world.drive(0, CLIENTS).await;
    world.meet(TaskInput::Pause).await;
    world.drive(1, 0).await;
    // Too few clients wait for the second round.
    world.meet(TaskInput::Resume).await;
    world.drive(2, 5).await;
    world.drive(2 + SELECTION_SECONDS, 5).await;
    let reasons: Vec<Option<AbandonReason>> = world
        .rounds()
        .await
        .iter()
        .map(|record| match record.round.phase {
            Phase::Abandoned { reason, .. } => Some(reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [Some(AbandonReason::TaskPaused), Some(AbandonReason::TooFewClients), None]);
    assert_eq!((world.version().await, world.charged().await), (0, 0));
}

/// Tests the key `prefetch`: with it, waiting clients are offered each new version and may fetch it. Without it, they
/// are offered no version.
#[tokio::test]
async fn a_new_version_is_offered_to_who_waits_where_the_task_prefetches() {
    for prefetches in [true, false] {
        let world = World::with(json!({ "prefetch": prefetches })).await;
        let (coordinator, client) = (&world.coordinator, &world.clients[0]);
        let (attributes, now) = ([].into(), START.plus_seconds(SELECTION_SECONDS + REPORTING_SECONDS));
        let offered = async || {
            let said = device::Offered { attributes: &attributes, codecs: &[] };
            let answer = device::end_wait(coordinator, client, said, 0, now).await.unwrap();
            let CheckInResponse::Wait { offered, .. } = answer else { panic!("nobody is drawn: {answer:?}") };
            offered
        };
        world.drive(0, CLIENTS).await;
        assert_eq!(offered().await, None, "version 0 comes with the first assignment");
        world.drive(SELECTION_SECONDS, CLIENTS).await;
        world.drive(SELECTION_SECONDS + REPORTING_SECONDS, 0).await;
        let newest = coordinator.storage.latest_model_version(world.task).await.unwrap().unwrap();
        assert_eq!(newest.number, 1);
        let expected = Artifact { digest: newest.weights, bytes: newest.weights_bytes };
        assert_eq!(offered().await, prefetches.then_some(expected));
        let fetched = device::blob(coordinator, client, newest.weights).await;
        let fetched = fetched.map(|(bytes, _)| bytes.len() as u64).map_err(|refusal| refusal.code());
        assert_eq!(fetched, if prefetches { Ok(expected.bytes) } else { Err(ErrorCode::BlobUnknown) });
    }
}

#[tokio::test]
async fn a_task_has_no_room_for_a_version_that_its_own_budget_does_not_allow() {
    let world = World::new().await;
    world.drive(0, CLIENTS).await;
    world.drive(SELECTION_SECONDS, CLIENTS).await;
    world.drive(SELECTION_SECONDS + REPORTING_SECONDS, 0).await;
    let task = world.task().await;
    let spent = Budget::of(&world.coordinator, &task).await.unwrap().unwrap().by_task.epsilon.get();
    let standing =
        Standing::of(&world.coordinator, world.organisation, &task.description.population).await.unwrap();
    assert_eq!(standing.passed(task.id, &task.description, &[]).unwrap(), None);
    let mut poor = task.description.clone();
    let PrivacyChoice::Central(central) = &mut poor.privacy else { panic!("it is central") };
    central.epsilon = spent * 1.01;
    let passed = standing.passed(task.id, &poor, &[]).unwrap().unwrap();
    assert!(matches!(passed, Passed::Task { .. }), "{passed:?}");
    let text = passed.to_string();
    assert!(text.starts_with(&format!("the task has spent epsilon {spent:.3} of ")), "{text}");
}
