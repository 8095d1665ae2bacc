//! Tests of components over whole tasks in a virtual world: the example, and one that misbehaves.

use folkmoot_coordinator::task::{PauseReason, TaskState};
use folkmoot_simulation::simulate::{Outcome, SimulateError};
use serde_json::{Value, json};

use crate::simulate::{bits, run, simulated, task, world};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/strategies/strategy.wasm");
const STRANGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/strategies/strange.wasm");

/// A file that is no component.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

fn component(path: &str, settings: &str) -> Value {
    json!({ "kind": "component", "component": path, "settings": settings })
}

async fn with(changes: Value, world_changes: Value) -> Outcome {
    run(task(&changes), world(&world_changes), 2).await
}

/// A component that computes the plain mean and adds the aggregate has the same result as the built-in kinds.
#[tokio::test]
async fn a_component_can_be_the_mean() {
    let stop = json!({ "rounds": 3 });
    let built_in = with(json!({ "aggregator": { "kind": "uniform_mean" }, "stop": stop }), json!({})).await;
    for changes in [
        json!({ "aggregator": component(STRANGE, ""), "stop": stop }),
        json!({ "aggregator": { "kind": "uniform_mean" }, "finalizer": component(STRANGE, ""), "stop": stop }),
        json!({ "aggregator": component(STRANGE, ""), "finalizer": component(STRANGE, ""), "stop": stop }),
    ] {
        let found = with(changes.clone(), json!({})).await;
        assert_eq!(found.rounds.len(), built_in.rounds.len(), "{changes}");
        let is_near = |(one, other): (&f32, &f32)| (one - other).abs() <= 1e-4;
        assert!(found.weights.iter().zip(&built_in.weights).all(is_near), "{changes}");
    }
}

/// Both parts of the example keep a state, learn, and give the same bytes again, also if the coordinator crashes.
#[tokio::test]
async fn components_keep_their_state_and_survive_crashes() {
    let changes = || {
        json!({
            "aggregator": component(EXAMPLE, "quantile=0.7"),
            "finalizer": component(EXAMPLE, "rate=0.01"),
        })
    };
    let first = with(changes(), json!({})).await;
    let metric = first.last_metric().unwrap_or_default();
    assert!(metric > 0.75, "{metric}");
    let again = run(task(&changes()), world(&json!({})), 1).await;
    assert_eq!(bits(&first.weights), bits(&again.weights));
    let faults = json!({ "coordinator_crash_seconds": 10.0, "coordinator_restart_seconds": 1.0 });
    let crashed = with(changes(), json!({ "faults": faults })).await;
    assert!(crashed.crashes > 0 && crashed.version == first.version, "{} crashes", crashed.crashes);
    assert!(crashed.last_metric().unwrap_or_default() > 0.75);
}

/// A component that fails in every round makes no version, and the task is paused after some rounds.
#[tokio::test]
async fn a_component_that_fails_pauses_its_task() {
    for (part, settings, version) in [
        ("aggregator", "combine:panic", 0),
        ("aggregator", "measure:loop", 0),
        ("finalizer", "advance:nan", 0),
        // Its state is for another number of values.
        ("finalizer", "begin:growing", 1),
    ] {
        let mut own = component(STRANGE, settings);
        own["fuel_max"] = json!(50_000_000);
        let changes = json!({ part: own, "abandoned_rounds_max": 2, "stop": { "rounds": 3 } });
        let outcome = with(changes, json!({ "hours_max": 24.0 })).await;
        let TaskState::Paused { reason: Some(reason), .. } = outcome.state else {
            panic!("{settings}: {:?}", outcome.state)
        };
        assert_eq!(outcome.version, version, "{settings}");
        let last_round = version + 2;
        assert_eq!(reason, PauseReason::FailedCommits { rounds: 2, last_round }, "{settings}");
    }
}

/// A fault of a component is shown when the task is created.
#[tokio::test]
async fn a_wrong_component_is_refused() {
    for (part, own, words) in [
        ("aggregator", component(EXAMPLE, "quantile=2"), "quantile is 2; it must be 0 to 1"),
        ("finalizer", component(EXAMPLE, "rate=fast"), "\"fast\" is not a number"),
        ("aggregator", component("nowhere.wasm", ""), "nowhere.wasm cannot be read"),
        ("aggregator", component(MANIFEST, ""), "it does not begin as WebAssembly"),
    ] {
        let refused = simulated(task(&json!({ part: own })), world(&json!({}))).await;
        let Err(error @ (SimulateError::Data(_) | SimulateError::Task(_))) = refused else {
            panic!("{words}: it is refused")
        };
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// The example's three parts together learn, also if the coordinator crashes between draws, and the same seed draws the same clients.
#[tokio::test]
async fn a_component_draws_clients() {
    let changes = json!({
        "selection": component(EXAMPLE, "candidates=8"),
        "aggregator": component(EXAMPLE, "quantile=0.7"),
        "finalizer": component(EXAMPLE, "rate=0.01"),
        "scheduling": { "kind": "synchronous", "report_goal": 4, "over_selection_factor": 1.0 },
    });
    let first = with(changes.clone(), json!({})).await;
    let again = run(task(&changes), world(&json!({})), 1).await;
    assert_eq!(bits(&first.weights), bits(&again.weights));
    let mut uniform = changes.clone();
    uniform["selection"] = json!({ "kind": "uniform" });
    assert_ne!(bits(&with(uniform, json!({})).await.weights), bits(&first.weights), "it draws others");
    let faults = json!({ "coordinator_crash_seconds": 10.0, "coordinator_restart_seconds": 1.0 });
    let crashed = with(changes, json!({ "faults": faults })).await;
    assert!(crashed.crashes > 0 && crashed.version == first.version, "{} crashes", crashed.crashes);
    for outcome in [first, crashed] {
        assert!(outcome.last_metric().unwrap_or_default() > 0.75, "{:?}", outcome.last_metric());
    }
}
