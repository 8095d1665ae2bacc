//! A round must end for any messages that clients send. The test generates sequences of protocol messages, with a
//! preference for numbers that have caused bugs.

use folkmoot_coordinator::{round::Phase, task::TaskInput};
use folkmoot_protocol::{
    limits::{COUNT_MAX, EXAMPLES_MAX},
    messages::{AbortRequest, CheckInRequest, ReportRequest},
    update::UpdateMetrics,
};
use folkmoot_rounds::device;
use folkmoot_storage::{MemoryStorage, SqlOptions, SqlStorage, Storage, TaskRepository};
use folkmoot_test_postgres::TestPostgres;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::in_process::{Drawn, InProcess, REPORTING_SECONDS, is_internal};

const CLIENTS: u8 = 3;
/// The number of cases for each database.
const CASES: u32 = 24;

/// A message from a client about its assignment.
#[derive(Clone, Debug)]
enum Message {
    Update { weight: u64, metrics: UpdateMetrics },
    Abort(Value),
    Report(Value),
    CheckIn(Value),
}

/// Generates either a number near a boundary or an arbitrary number.
fn number() -> impl Strategy<Value = u64> {
    let borders = [
        0,
        1,
        10,
        10_000,
        EXAMPLES_MAX,
        EXAMPLES_MAX + 1,
        COUNT_MAX,
        COUNT_MAX + 1,
        i64::MAX as u64,
        1 << 63,
        u64::MAX,
    ];
    prop_oneof![4 => prop::sample::select(borders.to_vec()), 1 => any::<u64>()]
}

/// Generates either a loss that has caused a bug or a float with arbitrary bits.
fn loss() -> impl Strategy<Value = f64> {
    let borders =
        [0.0, -0.0, 5.0, -1e5, 1e308, f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    prop_oneof![4 => prop::sample::select(borders.to_vec()), 1 => any::<u64>().prop_map(f64::from_bits)]
}

fn text() -> impl Strategy<Value = String> {
    let odd = ["1.0.0", "", "\0", "a\0b", "\u{1b}[2J", "two\nlines", "\u{202e}cba"].map(str::to_owned);
    prop_oneof![prop::sample::select(odd.to_vec()), any::<String>()]
}

fn message() -> impl Strategy<Value = Message> {
    // Most numbers are valid, because a second invalid number would hide the effect of the first.
    let loss = prop_oneof![Just(5.0), loss()];
    let metrics = (number(), loss, prop_oneof![Just(0), number()], prop_oneof![Just(1), number()]).prop_map(
        |(example_count, loss_sum, correct_count, step_count)| UpdateMetrics {
            example_count,
            loss_sum,
            correct_count,
            step_count,
        },
    );
    let honest = UpdateMetrics { example_count: 10, loss_sum: 5.0, correct_count: 4, step_count: 1 };
    let metrics = prop_oneof![1 => Just(honest), 2 => metrics];
    let update = (prop_oneof![Just(10), number()], metrics)
        .prop_map(|(weight, metrics)| Message::Update { weight, metrics });
    let abort = text().prop_map(|detail| json!({ "reason": "training_failed", "detail": detail }));
    let report = (number(), number(), number()).prop_map(|(training, down, up)| {
        json!({ "training_milliseconds": training, "download_bytes": down, "upload_bytes": up })
    });
    let check_in = (text(), number(), text(), text()).prop_map(|(version, examples, name, value)| {
        json!({ "sdk_version": version, "example_count": examples, "attributes": { name: value } })
    });
    prop_oneof![
        6 => update,
        1 => abort.prop_map(Message::Abort),
        2 => report.prop_map(Message::Report),
        1 => check_in.prop_map(Message::CheckIn),
    ]
}

/// Generates the kind of task: a task that sums updates on arrival, a task whose aggregator reads the round log, or a
/// flow.
fn combinations() -> impl Strategy<Value = Value> {
    let synchronous = |fewest: u8| {
        json!({
            "kind": "synchronous", "report_goal": CLIENTS, "minimum_cohort": fewest, "over_selection_factor": 1.0,
            "reporting_deadline_seconds": REPORTING_SECONDS,
        })
    };
    let buffered = json!({
        "kind": "buffered", "buffer_goal": 2, "concurrency": CLIENTS, "commit_after_seconds": 10,
        "reporting_deadline_seconds": REPORTING_SECONDS,
    });
    prop::sample::select(vec![
        json!({ "scheduling": synchronous(1) }),
        json!({ "scheduling": synchronous(3), "aggregator": { "kind": "median" } }),
        json!({ "scheduling": buffered }),
    ])
}

/// Parses a message as an endpoint does. Returns `None` for an invalid message, which the endpoint would reject.
fn read<T: DeserializeOwned>(message: &Value) -> Option<T> {
    serde_json::from_str(&message.to_string()).ok()
}

/// Sends a message. Fails if the coordinator reports an internal error.
async fn send(world: &InProcess, drawn: &Drawn, message: &Message) -> Result<(), TestCaseError> {
    let (coordinator, client) = (&world.coordinator, &drawn.client);
    let id = drawn.assignment.assignment_id;
    let refused = match message {
        Message::Update { weight, metrics } => {
            let mut header = world.header(drawn).await;
            (header.weight, header.metrics) = (*weight, *metrics);
            world.upload(drawn, &header).await.err()
        }
        Message::Abort(message) => match read::<AbortRequest>(message) {
            Some(abort) => device::abort(coordinator, client, id, &abort, world.now()).await.err(),
            None => None,
        },
        Message::Report(message) => match read::<ReportRequest>(message) {
            Some(report) => device::report(coordinator, client, id, &report, world.now()).await.err(),
            None => None,
        },
        Message::CheckIn(message) => match read::<CheckInRequest>(message) {
            Some(request) => device::check_in(coordinator, client, &request, 0, world.now()).await.err(),
            None => None,
        },
    };
    let is_fault = refused.as_ref().is_some_and(is_internal);
    prop_assert!(!is_fault, "{:?} caused an internal error: {:?}", message, refused);
    Ok(())
}

/// Runs one case. Asserts that the rounds end and that the task can be cancelled.
async fn play(
    storage: Storage,
    combination: &Value,
    messages: &[(u8, Message)],
) -> Result<(), TestCaseError> {
    let mut world = InProcess::new(storage, CLIENTS, combination.clone()).await;
    let drawn = world.draw().await;
    prop_assert_eq!(drawn.len(), usize::from(CLIENTS));
    let first = drawn[0].assignment.round_id;
    for (who, message) in messages {
        send(&world, &drawn[usize::from(*who)], message).await?;
        let driven = world.drive().await;
        prop_assert!(driven.is_ok(), "after {:?} a step fails: {:?}", message, driven);
    }
    world.pass(REPORTING_SECONDS + 1);
    let driven = world.drive().await;
    prop_assert!(driven.is_ok(), "after the deadline a step fails: {:?}", driven);
    for record in world.rounds().await {
        let phase = &record.round.phase;
        prop_assert!(!matches!(phase, Phase::Aggregating { .. }), "a round is never combined: {:?}", record);
        // The round of a flow stays open for later clients.
        let is_open = !phase.is_final() && !matches!(phase, Phase::Collecting { .. });
        prop_assert!(!(is_open && record.round.id == first), "a round never ends: {:?}", record);
    }
    let task = world.task().await;
    let state = task.state.step(TaskInput::Cancel).expect("it is not over");
    world
        .coordinator
        .storage
        .set_task_state(task.id, state, task.revision)
        .await
        .expect("nobody else changes it");
    let driven = world.drive().await;
    prop_assert!(driven.is_ok(), "after the cancellation a step fails: {:?}", driven);
    let rounds = world.rounds().await;
    prop_assert!(rounds.iter().all(|record| record.round.phase.is_final()), "{:?}", rounds);
    Ok(())
}

/// Runs all cases. For each, `storage` opens a new storage.
fn run<F: Future<Output = Storage>>(storage: impl Fn() -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the test made it so");
    let messages = prop::collection::vec((0..CLIENTS, message()), 1..12);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&(combinations(), messages), |(combination, messages)| {
            runtime.block_on(async { Box::pin(play(storage().await, &combination, &messages)).await })
        })
        .expect("the test made it so");
}

#[test]
fn no_messages_keep_a_round_from_ending_in_memory() {
    run(|| async { MemoryStorage::new().into() });
}

#[test]
fn no_messages_keep_a_round_from_ending_over_sqlite() {
    run(|| async {
        SqlStorage::connect("sqlite::memory:", SqlOptions::default()).await.expect("there is memory").into()
    });
}

#[test]
fn no_messages_keep_a_round_from_ending_over_postgresql() {
    // If PostgreSQL is not installed, `start` has already printed that the test is skipped.
    let Some(postgres) = TestPostgres::start() else { return };
    run(|| async {
        SqlStorage::connect(&postgres.database(), SqlOptions::default()).await.expect("it is up").into()
    });
}
