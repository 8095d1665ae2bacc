//! Tests of whole tasks in a virtual world, from the first check-in to the last version.

use std::{collections::BTreeSet, path::PathBuf};

use folkmoot_coordinator::task::{PauseReason, StopReason, TaskDescription, TaskState};
use folkmoot_data::{ReadOptions, read};
use folkmoot_simulation::simulate::{
    DataSource, Outcome, Silent, SimulateError, Simulation, WorldSettings, simulate, simulate_on,
};
use folkmoot_storage::{SqlOptions, SqlStorage};
use serde_json::{Value, json};

pub const MODEL: &[u8] = include_bytes!("../../../examples/digits/model.onnx");

/// Returns a task over the digits. `changes` replace its top-level keys.
pub fn task(changes: &Value) -> TaskDescription {
    let mut description = json!({
        "name": "digits",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.2 } },
            "epochs": 2,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 8, "reporting_deadline_seconds": 60 },
        "stop": { "rounds": 12 },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        description[key] = value.clone();
    }
    serde_json::from_value(description).expect("it is a description")
}

/// Returns a world of 30 clients. `changes` replace its top-level keys.
pub fn world(changes: &Value) -> WorldSettings {
    let mut settings = json!({ "clients": 30, "seed": 7 });
    for (key, value) in changes.as_object().expect("changes are an object") {
        settings[key] = value.clone();
    }
    serde_json::from_value(settings).expect("they are settings")
}

pub async fn run(description: TaskDescription, settings: WorldSettings, threads: usize) -> Outcome {
    run_keeping(description, settings, threads, None).await
}

/// Returns the result of a simulation that may be refused.
pub async fn simulated(
    description: TaskDescription,
    settings: WorldSettings,
) -> Result<Outcome, SimulateError> {
    Box::pin(simulate(simulation(description, settings, 1, None), &mut Silent)).await
}

async fn run_keeping(
    description: TaskDescription,
    settings: WorldSettings,
    threads: usize,
    kept: Option<PathBuf>,
) -> Outcome {
    run_over(simulation(description, settings, threads, kept)).await
}

/// Returns the result of a simulation whose model or data a test has replaced.
pub async fn run_over(simulation: Simulation) -> Outcome {
    Box::pin(simulate(simulation, &mut Silent)).await.expect("the simulation runs")
}

pub fn simulation(
    description: TaskDescription,
    settings: WorldSettings,
    threads: usize,
    kept: Option<PathBuf>,
) -> Simulation {
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/digits.csv");
    let training = read(digits.as_ref(), &ReadOptions::default()).expect("the digits are there");
    Simulation {
        description,
        onnx: MODEL.into(),
        settings,
        source: DataSource::Given { training, held_out: None },
        trace: None,
        threads,
        kept,
        evaluate_every: 1,
        sabotage: None,
        functions: None,
    }
}

pub fn bits(weights: &[f32]) -> Vec<u32> {
    weights.iter().map(|weight| weight.to_bits()).collect()
}

#[tokio::test]
async fn the_same_seed_gives_the_same_bytes_on_one_thread_or_on_several() {
    let devices = json!({ "dropout": { "vanish_probability": 0.05, "abort_probability": 0.05 } });
    for scheduling in [
        json!({ "kind": "synchronous", "report_goal": 8, "reporting_deadline_seconds": 60 }),
        json!({ "kind": "aggressive_synchronous", "cohort": 8, "minimum_cohort": 2 }),
        json!({ "kind": "buffered", "buffer_goal": 4, "concurrency": 12 }),
    ] {
        let description = || task(&json!({ "scheduling": scheduling }));
        let settings = |seed: u64| world(&json!({ "seed": seed, "devices": devices }));
        let one = run(description(), settings(3), 1).await;
        let several = run(description(), settings(3), 3).await;
        assert_eq!(bits(&one.weights), bits(&several.weights), "{scheduling}");
        assert_eq!(one.rounds, several.rounds);
        let other = run(description(), settings(4), 3).await;
        assert_ne!(bits(&one.weights), bits(&other.weights), "another seed is another world");
    }
}

/// The in-memory storage behaves like a database with files, also with crashes and lost messages.
#[tokio::test]
async fn a_database_and_files_give_the_same_bytes_as_memory() {
    let devices = json!({ "dropout": { "vanish_probability": 0.05, "abort_probability": 0.05 } });
    let faults = json!({
        "request_loss": 0.05, "answer_loss": 0.05,
        "coordinator_crash_seconds": 10.0, "coordinator_restart_seconds": 1.0,
    });
    let federated = json!({ "report_goal": 6, "slice_by": ["network"], "minimum_group": 2 });
    let measured = json!({ "every_versions": 3, "federated": federated });
    let stop = json!({ "rounds": 30 });
    for mut changes in [
        json!({ "scheduling": { "kind": "synchronous", "report_goal": 8, "reporting_deadline_seconds": 60 } }),
        json!({ "evaluation": measured, "selection": { "kind": "oort" } }),
        json!({ "scheduling": { "kind": "aggressive_synchronous", "cohort": 8, "grace_seconds": 20 } }),
        json!({ "scheduling": { "kind": "buffered", "buffer_goal": 4, "concurrency": 12 } }),
        json!({ "scheduling": { "kind": "stale_synchronous", "bound": 1, "concurrency": 12 } }),
    ] {
        changes["stop"] = stop.clone();
        let world = || world(&json!({ "seed": 11, "devices": devices, "faults": faults }));
        let in_memory = run(task(&changes), world(), 2).await;
        let folder = tempfile::tempdir().unwrap();
        let database = SqlStorage::connect("sqlite::memory:", SqlOptions::default()).await.unwrap();
        let log = folkmoot_round_log::RoundLog::local(folder.path()).unwrap();
        let over_it = simulation(task(&changes), world(), 2, None);
        let over_it = Box::pin(simulate_on(over_it, database, log, &mut Silent)).await.unwrap();
        assert_eq!(bits(&in_memory.weights), bits(&over_it.weights), "{changes}");
        assert_eq!(in_memory.rounds, over_it.rounds);
        let totals = |one: &Outcome| {
            (one.version, one.state, one.events, one.check_ins, one.client_rounds, one.crashes)
        };
        assert_eq!(totals(&in_memory), totals(&over_it));
        assert!(in_memory.version >= 30 && in_memory.crashes > 0, "{:?}", totals(&in_memory));
    }
}

#[tokio::test]
async fn every_policy_trains() {
    let flow = |kind: &str, more: Value| {
        let mut scheduling = json!({ "kind": kind, "concurrency": 10 });
        for (key, value) in more.as_object().into_iter().flatten() {
            scheduling[key] = value.clone();
        }
        scheduling
    };
    // In some policies each update is a commit, so there are more rounds with a smaller server learning rate.
    let small = json!({ "kind": "fed_avg", "server_learning_rate": 0.2 });
    for (scheduling, finalizer, rounds) in [
        (json!({ "kind": "synchronous", "report_goal": 8 }), json!({ "kind": "fed_avg" }), 12),
        (json!({ "kind": "aggressive_synchronous", "cohort": 8 }), json!({ "kind": "fed_avg" }), 12),
        (flow("semi_synchronous", json!({ "slot_seconds": 5 })), json!({ "kind": "fed_avg" }), 12),
        (flow("buffered", json!({ "buffer_goal": 5 })), json!({ "kind": "fed_avg" }), 30),
        (flow("asynchronous", json!({})), small.clone(), 120),
        (flow("stale_synchronous", json!({ "bound": 2 })), small.clone(), 120),
        (flow("dynamic_stale_synchronous", json!({ "bound_min": 1, "bound_max": 4 })), small.clone(), 120),
        (flow("value_bounded", json!({ "norm_max": 20.0 })), small.clone(), 120),
    ] {
        let description =
            task(&json!({ "scheduling": scheduling, "finalizer": finalizer, "stop": { "rounds": rounds } }));
        assert_eq!(description.validate(), [], "{scheduling}");
        let outcome = run(description, world(&json!({ "clients": 10 })), 2).await;
        assert_eq!(outcome.state, TaskState::Completed { reason: StopReason::Rounds }, "{scheduling}");
        assert_eq!(outcome.version, rounds);
        let accuracy = outcome.last_metric().unwrap_or_default();
        assert!(accuracy > 0.8, "{scheduling} came to {accuracy}");
    }
}

#[tokio::test]
async fn lost_messages_and_crashes_cost_time_and_nothing_else() {
    let faults = json!({
        "request_loss": 0.05, "answer_loss": 0.05,
        "coordinator_crash_seconds": 60.0, "coordinator_restart_seconds": 3.0,
    });
    for scheduling in [
        json!({ "kind": "synchronous", "report_goal": 8, "reporting_deadline_seconds": 120 }),
        json!({ "kind": "buffered", "buffer_goal": 4, "concurrency": 12, "reporting_deadline_seconds": 120 }),
        json!({ "kind": "stale_synchronous", "bound": 1, "concurrency": 12, "reporting_deadline_seconds": 120 }),
    ] {
        let outcome =
            run(task(&json!({ "scheduling": scheduling })), world(&json!({ "faults": faults })), 2).await;
        assert_eq!(outcome.version, 12, "{scheduling}");
        assert!(outcome.crashes > 0, "{scheduling}: the world was too kind");
    }
}

#[tokio::test]
async fn a_target_ends_a_task_and_a_plateau_does() {
    for (metric, target) in [("accuracy", 0.7), ("f1_macro", 0.6), ("perplexity", 2.5)] {
        let evaluation = json!({ "central": true, "metric": metric });
        let changes = json!({ "stop": { "rounds": 200, "target": target }, "evaluation": evaluation });
        let outcome = run(task(&changes), world(&json!({})), 2).await;
        assert_eq!(outcome.state, TaskState::Completed { reason: StopReason::Target }, "{metric}");
        assert!(outcome.version < 60 && (outcome.last_metric() < Some(target)) == (metric == "perplexity"));
    }
    let stop = json!({ "rounds": 500, "plateau": { "evaluations": 8, "improvement_min": 0.002 } });
    let changes = json!({ "stop": stop, "evaluation": { "central": true } });
    let outcome = run(task(&changes), world(&json!({})), 2).await;
    assert_eq!(outcome.state, TaskState::Completed { reason: StopReason::Plateau });
    assert!(outcome.version < 400, "{}", outcome.version);
    let outcome = run(task(&json!({ "stop": { "hours": 0.02 } })), world(&json!({})), 2).await;
    assert_eq!(outcome.state, TaskState::Completed { reason: StopReason::Time });
    assert!((72.0..200.0).contains(&outcome.virtual_seconds), "{}", outcome.virtual_seconds);
}

/// With a learning rate that is far too high, every update is rejected or aborted, and the coordinator pauses the
/// task.
#[tokio::test]
async fn a_task_that_diverges_is_paused() {
    let changes = |scheduling: Value| {
        json!({
            "plan": {
                "loss": "softmax_cross_entropy",
                "optimizer": { "sgd": { "learning_rate": 1e30 } },
                "epochs": 2,
                "batch_size": 16,
            },
            "scheduling": scheduling,
            "stop": { "hours": 5.0 },
            "abandoned_rounds_max": 6,
        })
    };
    let synchronous = json!({ "kind": "synchronous", "report_goal": 8, "reporting_deadline_seconds": 60 });
    let outcome = run(task(&changes(synchronous)), world(&json!({ "clients": 10 })), 2).await;
    let TaskState::Paused { reason: Some(PauseReason::AbandonedRounds { rounds, .. }), .. } = outcome.state
    else {
        panic!("it is {:?}", outcome.state)
    };
    assert_eq!((rounds, outcome.version), (6, 0));
    assert!(outcome.client_rounds <= 60, "{} trainings", outcome.client_rounds);
    let buffered = json!({ "kind": "buffered", "buffer_goal": 4, "concurrency": 5 });
    let outcome = run(task(&changes(buffered)), world(&json!({ "clients": 10 })), 2).await;
    let TaskState::Paused { reason: Some(PauseReason::FailedAssignments { assignments, .. }), .. } =
        outcome.state
    else {
        panic!("it is {:?}", outcome.state)
    };
    assert!((30..40).contains(&assignments) && outcome.version == 0, "{assignments} assignments");
}

/// Rounds with too few clients do not count as failures: the task keeps waiting.
#[tokio::test]
async fn a_task_that_waits_for_clients_is_not_paused() {
    let changes = json!({ "stop": { "rounds": 12 }, "abandoned_rounds_max": 1 });
    let outcome = run(task(&changes), world(&json!({ "clients": 2, "hours_max": 1.0 })), 2).await;
    assert_eq!(outcome.state, TaskState::ACTIVE);
    assert!(outcome.rounds.len() > 20 && outcome.version == 0, "{} rounds", outcome.rounds.len());
}

/// Ten silos with a report goal of seven, one of them six times slower. By default, with no over-selection factor
/// set, rounds do not wait for it.
#[tokio::test]
async fn a_small_population_does_not_wait_for_stragglers() {
    let commits = async |factor: Value| {
        let changes = json!({
            "scheduling": { "kind": "synchronous", "report_goal": 7, "over_selection_factor": factor },
            "stop": { "hours": 0.5 },
        });
        let compute = json!({
            "kind": "log_normal",
            "median_seconds_per_example": 1e-9,
            "spread": 0.0,
            "round_spread": 0.0,
            "overhead_seconds": 10.0,
        });
        let devices = json!({ "compute": compute, "slow": { "clients": [0], "factor": 6.0 } });
        let settings = json!({ "clients": 10, "devices": devices, "arrival_seconds": 1.0, "hours_max": 0.5 });
        run(task(&changes), world(&settings), 2).await.version
    };
    let (by_population, always, never) =
        (commits(Value::Null).await, commits(json!(1.3)).await, commits(json!(1.0)).await);
    println!("commits: {by_population} by population, {always} with 1.3, {never} with 1.0");
    assert!(by_population > never && never > always, "{by_population}, {never}, {always}");
}

/// Clients evaluate in separate rounds, also for each kind of network. A metric of their counts ends the task.
#[tokio::test]
async fn clients_evaluate() {
    let federated = json!({ "report_goal": 10, "slice_by": ["network"], "minimum_group": 2 });
    let evaluation = json!({ "every_versions": 3, "metric": "f1_macro", "federated": federated });
    let changes = json!({ "stop": { "rounds": 200, "target": 0.8 }, "evaluation": evaluation });
    let outcome = run(task(&changes), world(&json!({})), 2).await;
    let measured: BTreeSet<u64> = outcome
        .rounds
        .iter()
        .filter(|row| row.held_out_metric.is_some())
        .filter_map(|row| row.version)
        .collect();
    assert!(measured.len() >= 2 && measured.iter().all(|version| version % 3 == 0), "{measured:?}");
    assert_eq!(outcome.state, TaskState::Completed { reason: StopReason::Target });
}

/// Returns a grid with room for hostile updates.
pub fn grid() -> Value {
    json!({ "fraction_bits": 20, "value_max": 512.0, "weight_max": 10_000 })
}

/// After a drop of the metric, the task rolls back to its best version.
#[tokio::test]
async fn a_fall_returns_to_the_best_version() {
    let adversary = json!({ "share": 0.1, "attack": { "kind": "sign_flip", "factor": 40.0 } });
    let evaluation = json!({ "central": true, "rollback_margin": 0.1 });
    let changes = json!({
        "evaluation": evaluation,
        "aggregator": { "kind": "weighted_mean" },
        "scheduling": { "kind": "synchronous", "report_goal": 4, "over_selection_factor": 1.0 },
        "stop": { "rounds": 30 },
        "grid": grid(),
    });
    let outcome = run(task(&changes), world(&json!({ "adversary": adversary })), 2).await;
    assert!(outcome.version > 30, "versions without a round are returns: {}", outcome.version);
    let best = outcome.rounds.iter().filter_map(|row| row.held_out_metric).fold(0.0, f64::max);
    assert!(best > 0.5, "{best}");
}

/// With far more clients than needed, most stay idle instead of polling.
#[tokio::test]
async fn idle_clients_cost_little() {
    let arrival = json!({ "clients": 400, "arrival_seconds": 30.0 });
    let outcome = run(task(&json!({ "stop": { "rounds": 40 } })), world(&arrival), 2).await;
    let hours = outcome.virtual_seconds / 3600.0;
    let of_client = outcome.check_ins as f64 / 400.0;
    // A retry window of 0.5 to 5 seconds would cause about 1,300 check-ins per hour, or about 100 with the time in
    // long polls.
    assert!(of_client < 2.0 + 60.0 * hours, "{of_client} check-ins of each in {hours:.2} hours");
}

/// An interrupted simulation has saved some of its updates. The others are trained again, and the result is the same.
#[tokio::test]
async fn a_simulation_goes_on_from_what_was_kept() {
    let kept = tempfile::tempdir().unwrap();
    let folder = || Some(kept.path().to_owned());
    let description = || task(&json!({ "stop": { "rounds": 8 } }));
    let first = run_keeping(description(), world(&json!({})), 2, folder()).await;
    let files = || std::fs::read_dir(kept.path()).unwrap().map(|entry| entry.unwrap().path());
    // Remove half of the files and damage one, as if the process had been killed during a write.
    let whole = files().count();
    files().take(whole / 2).for_each(|path| std::fs::remove_file(path).unwrap());
    let damaged = files().next().unwrap();
    std::fs::write(&damaged, b"half").unwrap();
    let resumed = run_keeping(description(), world(&json!({})), 2, folder()).await;
    // Trainings that were running when the last round closed may or may not have been saved.
    let accepted: u64 = first.rounds.iter().map(|row| row.reported).sum();
    assert!(files().count() as u64 >= accepted, "{} of {whole}, {accepted} were accepted", files().count());
    assert!(std::fs::metadata(&damaged).unwrap().len() > 1000, "it was trained again");
    assert_eq!(bits(&resumed.weights), bits(&first.weights));
    assert_eq!(resumed.rounds, first.rounds);
}

/// Compressed updates train about as well with far fewer bytes. Errors of a biased codec are added to the next
/// update.
#[tokio::test]
async fn compressed_updates_train() {
    let rounds = json!({ "rounds": 20 });
    let all_take_part = json!({ "kind": "synchronous", "report_goal": 15, "over_selection_factor": 1.0 });
    let described = |compression: Value| {
        let mut changes = json!({ "stop": rounds, "scheduling": all_take_part });
        if !compression.is_null() {
            changes["compression"] = compression;
        }
        task(&changes)
    };
    let settings = || world(&json!({ "clients": 15 }));
    let plain = run(described(Value::Null), settings(), 2).await;
    let sent = |outcome: &Outcome| outcome.rounds.iter().map(|row| row.bytes_up).sum::<u64>();
    for (codec, times, loss) in [("eden:4", 3.0, 0.05), ("qsgd:15", 2.0, 0.05), ("top_k:0.05", 3.5, 0.08)] {
        let compression = json!({ "codec": codec, "exact_below": 100 });
        let outcome = run(described(compression.clone()), settings(), 2).await;
        let (with, without) = (outcome.last_metric().unwrap(), plain.last_metric().unwrap());
        assert!(with > without - loss, "{codec}: {with} against {without}");
        let fewer = sent(&plain) as f64 / sent(&outcome) as f64;
        assert!(fewer > times, "{codec}: {fewer} times fewer bytes");
        let again = run(described(compression), settings(), 1).await;
        assert_eq!(bits(&again.weights), bits(&outcome.weights), "{codec}: one thread or two");
    }
    // Aggregators that compare updates work on decoded values.
    let median = json!({
        "stop": rounds, "scheduling": all_take_part, "aggregator": { "kind": "median" }, "compression": { "codec": "eden:4" },
    });
    let outcome = run(task(&median), settings(), 2).await;
    assert!(outcome.last_metric().unwrap() > 0.5, "{:?}", outcome.last_metric());
}
