//! Tests of the watch over tasks, with a webhook that records what arrives.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use folkmoot_api::tasks::CreateTaskRequest;
use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy},
    round::{AbandonReason, Phase},
    task::{PauseReason, StopReason, TaskState},
};
use folkmoot_engine::onnx::build::mlp;
use folkmoot_notification::{Channels, Deliveries, NotificationConfig, recipient::Recipient};
use folkmoot_objects::BlobStore;
use folkmoot_privacy::{Delta, Epsilon};
use folkmoot_protocol::{OrganisationId, RoundId, TaskId, Timestamp};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{
    clock::Clock,
    coordinator::Coordinator,
    drivers::drive_task,
    privacy::{Budget, may_collect},
    registry,
};
use folkmoot_service::watch::Watch;
use folkmoot_storage::{
    PopulationRepository, PrivacyChange, PrivacyOutcome, RoundRecord, RoundRepository, SqlOptions,
    SqlStorage, TaskRepository,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::{Value, json};

const START: Timestamp = Timestamp(1_700_000_000_000);
const HOUR: u64 = 3_600_000;
/// The duration of the lease of the process that delivers, in milliseconds.
const LEASE: u64 = 200_000;

/// A coordinator over a database in memory, with a webhook.
struct Watched {
    coordinator: Arc<Coordinator>,
    organisation: OrganisationId,
    recipient: Recipient,
    clock: Arc<AtomicU64>,
}

impl Watched {
    async fn new() -> Self {
        let storage = SqlStorage::connect("sqlite::memory:", SqlOptions::default()).await.unwrap();
        let organisation = OrganisationId::from_random_bytes([1; 16]);
        let organisation = storage.ensure_organisation("default", organisation, START).await.unwrap();
        let population = "digits".parse().unwrap();
        storage.ensure_population(organisation, &population, START).await.unwrap();
        let (blobs, log) = (BlobStore::in_memory(), RoundLog::in_memory());
        let chance = ChaCha20Rng::seed_from_u64(1);
        let coordinator = Arc::new(Coordinator::new(storage, blobs, log, chance));
        let clock = Arc::new(AtomicU64::new(START.0));
        Self { coordinator, organisation, recipient: Recipient::web().await, clock }
    }

    /// A process that begins to watch. With `hook` it has the webhook.
    fn watch(&self, hook: bool) -> Watch {
        self.watch_of("process", hook)
    }

    fn watch_of(&self, holder: &str, hook: bool) -> Watch {
        self.watch_with(holder, self.deliveries(hook))
    }

    fn deliveries(&self, hook: bool) -> Deliveries {
        let url = format!("http://127.0.0.1:{}/", self.recipient.port);
        let hooks = if hook { json!([{ "name": "hook", "url": url }]) } else { json!([]) };
        let config: NotificationConfig = serde_json::from_value(json!({ "webhooks": hooks })).unwrap();
        Deliveries::new(Channels::new(&config, "https://fl.example", &|_| None).unwrap())
    }

    fn watch_with(&self, holder: &str, deliveries: Deliveries) -> Watch {
        let moment = self.clock.clone();
        let clock: Clock = Arc::new(move || Timestamp(moment.load(Ordering::Relaxed)));
        Watch::new(self.coordinator.clone(), holder.into(), clock, deliveries)
    }

    /// Lets a process look at this time.
    async fn pass(&self, watch: &mut Watch, now: Timestamp) {
        self.clock.store(now.0, Ordering::Relaxed);
        watch.pass().await.unwrap();
    }

    async fn task(&self, more: Value) -> TaskId {
        let onnx = Bytes::from(mlp(&[4, 3], 1));
        let length = onnx.len();
        let model =
            registry::create_model(&self.coordinator, self.organisation, onnx, length, START).await.unwrap();
        let sgd = json!({ "sgd": { "learning_rate": 0.1 } });
        let plan = json!({ "loss": "mean_squared_error", "optimizer": sgd, "epochs": 1, "batch_size": 16 });
        let scheduling = json!({ "kind": "synchronous", "report_goal": 8 });
        let mut description = json!({
            "name": "digits", "population": "digits", "plan": plan, "scheduling": scheduling, "stop": { "rounds": 30 },
        });
        description.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let request = CreateTaskRequest {
            description: serde_json::from_value(description).unwrap(),
            model: model.model,
            evaluation_data: None,
            warm_start: None,
            activate: true,
        };
        registry::create_task(&self.coordinator, self.organisation, request, START).await.unwrap().id
    }

    async fn set(&self, task: TaskId, state: TaskState) {
        let storage = &self.coordinator.storage;
        let revision = storage.task_of_any_organisation(task).await.unwrap().unwrap().revision;
        storage.set_task_state(task, state, revision).await.unwrap();
    }

    /// Lets the driver open a round at `now`, and abandons it.
    async fn abandon(&self, task: TaskId, reason: AbandonReason, now: Timestamp) {
        while drive_task(&self.coordinator, task, now).await.unwrap() {}
        let storage = &self.coordinator.storage;
        let mut record: RoundRecord = storage.unfinished_round(task).await.unwrap().unwrap();
        record.round.phase = Phase::Abandoned { at: now, reason };
        storage.abandon_round(&record, now).await.unwrap();
    }

    async fn set_budget(&self, epsilon: f64) {
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(1e-6).unwrap());
        let budget = Some(PopulationBudget { epsilon, delta });
        let change = PrivacyChange {
            privacy: PopulationPrivacy { budget, ..PopulationPrivacy::default() },
            weakened: Some("a test"),
            may_weaken: true,
            by: "test",
            now: START,
        };
        let (storage, population) = (&self.coordinator.storage, "digits".parse().unwrap());
        let set = storage.set_population_privacy(self.organisation, &population, &change).await.unwrap();
        assert_eq!(set, PrivacyOutcome::Set);
    }

    /// The type, title, cause and id of what has arrived.
    fn told(&self) -> Vec<(String, String, String, String)> {
        let received = self.recipient.received().into_iter();
        let told = received.map(|one| {
            let body: Value = serde_json::from_str(&one.body).unwrap();
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let id = one.header("webhook-id").unwrap().to_owned();
            (text(&body["type"]), text(&body["data"]["title"]), text(&body["data"]["cause"]), id)
        });
        told.collect()
    }
}

fn later(milliseconds: u64) -> Timestamp {
    Timestamp(START.0 + milliseconds)
}

#[tokio::test]
async fn an_end_is_told_once_also_by_the_next_process() {
    let watched = Watched::new().await;
    let task = watched.task(json!({})).await;
    let mut watch = watched.watch(true);
    watched.pass(&mut watch, START).await;
    assert_eq!(watched.told(), [], "a start is no news");
    watched.set(task, TaskState::Completed { reason: StopReason::Target }).await;
    watched.pass(&mut watch, START).await;
    watched.pass(&mut watch, later(1)).await;
    watched.pass(&mut watched.watch(true), later(2)).await;
    let cause = "Its metric reached the target. It has 0 rounds.".to_owned();
    let id = format!("task_completed-{task}-1");
    assert_eq!(watched.told(), [("task_completed".into(), "digits has finished".into(), cause, id)]);
}

#[tokio::test]
async fn a_notice_that_nobody_took_is_delivered_by_the_next_process() {
    let watched = Watched::new().await;
    let task = watched.task(json!({})).await;
    let reason = PauseReason::FailedCommits { rounds: 3, last_round: 7 };
    watched.set(task, TaskState::Paused { reason: Some(reason), after_round: 7 }).await;
    watched.recipient.answer([500]);
    watched.pass(&mut watched.watch(true), START).await;
    // The first process was killed. Its lease has not expired.
    let mut other = watched.watch_of("other", true);
    watched.pass(&mut other, later(1)).await;
    assert_eq!(watched.told().len(), 1);
    watched.pass(&mut other, later(LEASE)).await;
    let told = watched.told();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], told[1], "a repetition can be recognised");
    let (event, title, cause, _) = &told[1];
    assert_eq!((event.as_str(), title.as_str()), ("task_paused", "digits was paused"));
    assert!(cause.contains("3 rounds in a row") && cause.contains("commit_failed"), "{cause}");
}

#[tokio::test]
async fn what_happened_before_there_was_a_channel_is_not_told() {
    let watched = Watched::new().await;
    let task = watched.task(json!({})).await;
    watched.set(task, TaskState::Completed { reason: StopReason::Rounds }).await;
    watched.pass(&mut watched.watch(false), START).await;
    watched.pass(&mut watched.watch(true), later(1)).await;
    assert_eq!(watched.told(), []);
}

#[tokio::test]
async fn changes_by_operators_are_not_told() {
    let watched = Watched::new().await;
    let task = watched.task(json!({})).await;
    for state in [TaskState::PAUSED, TaskState::ACTIVE, TaskState::Cancelled] {
        watched.set(task, state).await;
        watched.pass(&mut watched.watch(true), START).await;
    }
    assert_eq!(watched.told(), []);
}

#[tokio::test]
async fn a_task_that_waits_for_a_day_stands_still() {
    let watched = Watched::new().await;
    let task = watched.task(json!({})).await;
    watched.abandon(task, AbandonReason::TooFewClients, START).await;
    let mut watch = watched.watch(true);
    for (at, expected) in [(24 * HOUR - 1, 0), (24 * HOUR, 0), (24 * HOUR + 60_000, 1), (48 * HOUR, 1)] {
        watched.pass(&mut watch, later(at)).await;
        assert_eq!(watched.told().len(), expected, "{at}");
    }
    let (event, title, cause, id) = &watched.told()[0];
    assert_eq!((event.as_str(), title.as_str()), ("task_stalled", "digits stands still"));
    assert_eq!(
        cause,
        "The task has committed no version for 24 hours. The latest reason is too few clients."
    );
    assert_eq!(*id, format!("task_stalled-{task}-0"));
    // Another process knows it, too.
    watched.pass(&mut watched.watch(true), later(49 * HOUR)).await;
    assert_eq!(watched.told().len(), 1);
}

#[tokio::test]
async fn three_failed_rounds_in_a_row_are_told_at_once() {
    let watched = Watched::new().await;
    let task = watched.task(json!({})).await;
    for (round, expected) in [(1, 0), (2, 0), (3, 1), (4, 1)] {
        watched.abandon(task, AbandonReason::TooFewReports, later(round)).await;
        watched.pass(&mut watched.watch(true), later(round)).await;
        assert_eq!(watched.told().len(), expected, "{round}");
    }
    let cause = "The last 3 rounds failed one after the other. The latest reason is too few reports.";
    assert_eq!(watched.told()[0].2, cause);
}

#[tokio::test]
async fn a_budget_that_is_nearly_spent_is_told_once_until_it_is_raised() {
    let watched = Watched::new().await;
    watched.set_budget(31.0).await;
    let task = watched
        .task(json!({
            "aggregator": { "kind": "uniform_mean" },
            "grid": { "value_max": 4096.0, "fraction_bits": 20, "weight_max": 1 },
            "privacy": {
                "kind": "local", "epsilon": 30.0, "delta": 1e-6, "participations_max": 2, "clipping_norm": 1.0,
            },
        }))
        .await;
    let mut watch = watched.watch(true);
    watched.pass(&mut watch, START).await;
    assert_eq!(watched.told(), [], "nothing is spent");
    let storage = &watched.coordinator.storage;
    let record = storage.task_of_any_organisation(task).await.unwrap().unwrap();
    let round = RoundId::from_random_bytes([9; 16]);
    assert!(may_collect(&watched.coordinator, &record, round, START).await.unwrap());
    let spent = Budget::of(&watched.coordinator, &record).await.unwrap().unwrap().of_population_budget;
    let spent = spent.unwrap().epsilon.get();
    for budget in [1.05 * spent, 3.0 * spent, 1.1 * spent] {
        watched.set_budget(budget).await;
        // Each process that begins looks again.
        for _ in 0..2 {
            watched.pass(&mut watched.watch(true), START).await;
        }
    }
    let told = watched.told();
    let causes: Vec<&str> = told.iter().map(|(_, _, cause, _)| cause.as_str()).collect();
    let cause = |share: f64| {
        format!("Epsilon {spent:.2} of {:.2} is spent, by the budget of its population.", share * spent)
    };
    assert_eq!(causes, [cause(1.05), cause(1.1)]);
    assert_eq!(told[0].1, "The privacy budget of digits is nearly spent");
}

#[tokio::test]
async fn a_notice_whose_occasion_has_passed_waits_no_longer() {
    let watched = Watched::new().await;
    let task = watched.task(json!({})).await;
    let reason = PauseReason::FailedCommits { rounds: 3, last_round: 7 };
    watched.set(task, TaskState::Paused { reason: Some(reason), after_round: 7 }).await;
    watched.recipient.answer([500]);
    let deliveries = watched.deliveries(true);
    let board = deliveries.board();
    let mut watch = watched.watch_with("process", deliveries);
    watched.pass(&mut watch, START).await;
    assert_eq!(board.channels()[0].state.waiting, 1);
    watched.set(task, TaskState::ACTIVE).await;
    watched.pass(&mut watch, later(1)).await;
    assert_eq!((board.channels()[0].state.waiting, watched.told().len()), (0, 1));
}
