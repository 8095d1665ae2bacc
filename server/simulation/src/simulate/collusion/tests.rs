//! Colluding attacks through the coordinator, in a virtual world.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_data::{ReadOptions, read};
use folkmoot_engine::{ImportLimits, Model, Trainer, TrainingPlan, onnx::build::mlp};
use folkmoot_protocol::Work;
use serde_json::{Value, json};

use super::*;
use crate::simulate::{DataSource, Outcome, Silent, SimulateError, Simulation, WorldSettings, simulate};

const DIGITS_MODEL: &[u8] = include_bytes!("../../../../../examples/digits/model.onnx");

/// Returns a task in whose rounds all of `clients` clients take part. `changes` replace its top-level keys.
fn description(clients: u64, plan: &Value, changes: &Value) -> TaskDescription {
    let mut description = json!({
        "name": "attacked", "population": "attacked", "plan": plan,
        "scheduling": { "kind": "synchronous", "report_goal": clients, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "stop": { "rounds": 1 },
        "grid": { "fraction_bits": 24, "value_max": 64.0, "weight_max": 10_000 },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        description[key] = value.clone();
    }
    serde_json::from_value(description).expect("it is a description")
}

async fn run(
    description: TaskDescription,
    onnx: &[u8],
    world: &Value,
    source: DataSource,
    threads: usize,
) -> Result<Outcome, SimulateError> {
    let simulation = Simulation {
        description,
        onnx: onnx.to_vec().into(),
        settings: serde_json::from_value(world.clone()).expect("they are settings"),
        source,
        trace: None,
        threads,
        kept: None,
        evaluate_every: 1,
        sabotage: None,
        functions: None,
    };
    Box::pin(simulate(simulation, &mut Silent)).await
}

/// Returns a world of six clients with a regression to learn.
fn regression(adversary: &Value) -> Value {
    json!({
        "clients": 6, "seed": 5, "held_out_share": 0.0,
        "partition": { "kind": "natural" },
        "synthetic": { "kind": "linear_regression", "clients": 6, "examples_per_client": 12, "features": 5 },
        "adversary": adversary,
    })
}

/// Returns a plan of full batches, so that the order of the examples has no effect.
fn full_batches() -> Value {
    json!({
        "loss": "mean_squared_error", "optimizer": { "sgd": { "learning_rate": 0.05 } },
        "epochs": 3, "batch_size": 10_000,
    })
}

/// Trains every client of the world from the model's own weights, without the simulation. Returns these weights and the
/// clients' deltas.
fn trained(onnx: &[u8], world: &Value) -> (Vec<f32>, Vec<Vec<f64>>) {
    let settings: WorldSettings = serde_json::from_value(world.clone()).expect("they are settings");
    let crowd = Crowd::deal(&settings, DataSource::Made, false).expect("the examples can be divided");
    let model = Model::from_onnx(onnx, &ImportLimits::default()).expect("it is a model");
    let plan: TrainingPlan = serde_json::from_value(full_batches()).expect("it is a plan");
    let start = model.initial_weights();
    let delta = |client| {
        let examples = crowd.examples(client, Work::Training).expect("the client has examples");
        let mut trainer = Trainer::new(&model, &start, plan.clone(), &examples, 1).expect("they fit");
        while !trainer.step().expect("it does not diverge").finished {}
        trainer.finish().delta.into_iter().map(f64::from).collect()
    };
    (start.clone(), (0..crowd.len()).map(delta).collect())
}

/// Clients 1 and 4 of six are hostile. With two known updates a and b, the standard deviation is |a − b| / √2.
#[tokio::test]
async fn an_attack_moves_the_mean_as_computed_by_hand() {
    let onnx = mlp(&[5, 4, 1], 3);
    for (attack, hostile) in [
        (
            json!({ "kind": "alie", "z": 2.0 }),
            (|a, b| f64::midpoint(a, b) - 2.0 * (a - b).abs() / 2f64.sqrt()) as fn(f64, f64) -> f64,
        ),
        (json!({ "kind": "inner_product", "epsilon": 3.0 }), |a, b| -3.0 * f64::midpoint(a, b)),
        // Both updates are ‖a − b‖ / 2 from the mean, and the standard deviations have the norm ‖a − b‖ / √2. So γ = 1 / √2.
        (json!({ "kind": "min_sum" }), |a, b| f64::midpoint(a, b) - (a - b).abs() / 2.0),
    ] {
        let world = regression(&json!({ "clients": [1, 4], "attack": attack }));
        let (start, deltas) = trained(&onnx, &world);
        let description = description(6, &full_batches(), &json!({}));
        let outcome = run(description, &onnx, &world, DataSource::Made, 2).await.expect("it runs");
        let mut moved: f64 = 0.0;
        for (index, (found, start)) in outcome.weights.iter().zip(&start).enumerate() {
            let of = |client: usize| deltas[client][index];
            let honest = of(0) + of(2) + of(3) + of(5);
            let expected = f64::from(*start) + (honest + 2.0 * hostile(of(1), of(4))) / 6.0;
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{attack}: {found}, not {expected}");
            moved = moved.max((expected - f64::from(*start) - (honest + of(1) + of(4)) / 6.0).abs());
        }
        assert!(moved > 1e-3, "{attack} changes the mean by {moved} only");
    }
}

/// Neither threads nor faults nor late clients change the updates on which the hostile clients agree.
#[tokio::test]
async fn an_attack_is_the_same_on_any_number_of_threads() {
    let onnx = mlp(&[5, 4, 1], 3);
    let plan = json!({
        "loss": "mean_squared_error", "optimizer": { "sgd": { "learning_rate": 0.05 } },
        "epochs": 2, "batch_size": 4,
    });
    for scheduling in [
        json!({ "kind": "synchronous", "report_goal": 5, "reporting_deadline_seconds": 60 }),
        json!({ "kind": "buffered", "buffer_goal": 3, "concurrency": 6 }),
    ] {
        let mut world = regression(&json!({ "share": 0.34, "attack": { "kind": "fang" } }));
        world["devices"] = json!({ "dropout": { "vanish_probability": 0.05, "abort_probability": 0.1 } });
        world["faults"] = json!({ "request_loss": 0.05, "answer_loss": 0.05 });
        let run = async |seed: u64, threads| {
            let mut world = world.clone();
            world["seed"] = json!(seed);
            let changes = json!({ "scheduling": scheduling, "stop": { "rounds": 12 } });
            let description = description(6, &plan, &changes);
            let outcome = run(description, &onnx, &world, DataSource::Made, threads).await.expect("it runs");
            let bits: Vec<u32> = outcome.weights.iter().map(|weight| weight.to_bits()).collect();
            (bits, outcome.rounds)
        };
        let one = run(5, 1).await;
        assert_eq!(one, run(5, 3).await, "{scheduling}");
        assert_ne!(one, run(6, 3).await, "another seed is another world");
    }
}

/// A fifth of the clients push the mean back by more than the others push it forward: 24 − 6·10 is below 0.
#[tokio::test]
async fn robust_rules_resist_an_attack_that_turns_the_mean() {
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/digits.csv");
    let digits = read(digits.as_ref(), &ReadOptions::default()).expect("the digits are there");
    let plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.2 } },
        "epochs": 2, "batch_size": 16,
    });
    let attack = json!({ "kind": "inner_product", "epsilon": 10.0 });
    let world = json!({ "clients": 30, "seed": 7, "adversary": { "share": 0.2, "attack": attack } });
    let accuracy = async |aggregator: Value| {
        let changes = json!({ "aggregator": aggregator, "stop": { "rounds": 12 } });
        let source = DataSource::Given { training: digits.clone(), held_out: None };
        let outcome = run(description(30, &plan, &changes), DIGITS_MODEL, &world, source, 2).await;
        outcome.expect("it runs").last_metric().expect("versions are measured")
    };
    let mean = accuracy(json!({ "kind": "uniform_mean" })).await;
    let bulyan = accuracy(json!({ "kind": "bulyan", "byzantine_share": 0.2 })).await;
    let clipping = accuracy(json!({ "kind": "centred_clipping", "norm_max": 0.5 })).await;
    assert!(mean < 0.4 && bulyan > 0.75 && clipping > 0.7, "{mean}, {bulyan}, {clipping}");
}

#[tokio::test]
async fn an_attack_on_personal_layers_leaves_them_to_their_clients() {
    let onnx = mlp(&[5, 4, 1], 3);
    let mut plan = full_batches();
    plan["personal"] = json!(["layer_2.*"]);
    let mut world = regression(&json!({ "clients": [1, 4], "attack": { "kind": "min_max" } }));
    world["held_out_share"] = json!(0.2);
    let description = description(6, &plan, &json!({ "stop": { "rounds": 4 } }));
    let outcome = run(description, &onnx, &world, DataSource::Made, 2).await.expect("it runs");
    assert_eq!(outcome.version, 4);
    let file = Model::from_onnx(&onnx, &ImportLimits::default()).expect("it is a model").initial_weights();
    // The first layer has 5·4 weights and 4 biases.
    assert_eq!(outcome.weights[24..], file[24..], "personal layers are not sent");
    assert_ne!(outcome.weights[..24], file[..24]);
}

#[tokio::test]
async fn an_attack_of_one_client_that_compares_updates_is_refused() {
    let onnx = mlp(&[5, 4, 1], 3);
    let world = regression(&json!({ "clients": [1], "attack": { "kind": "alie" } }));
    let description = description(6, &full_batches(), &json!({}));
    let refused = run(description, &onnx, &world, DataSource::Made, 1).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the attack needs 2 hostile clients with examples, because it compares their updates, and there are 1; raise \
         adversary.share or clients"
    );
}

/// Threads share the updates of a version. Only the newest versions are cached.
#[test]
fn updates_of_an_attack_are_cached_for_a_few_versions() {
    let world: WorldSettings =
        serde_json::from_value(regression(&json!({ "share": 0.5, "attack": { "kind": "alie" } })))
            .expect("they are settings");
    let crowd = Crowd::deal(&world, DataSource::Made, false).expect("the examples can be divided");
    let task = description(6, &full_batches(), &json!({}));
    let collusion = Collusion::of(&crowd, task.scheduling.policy()).expect("the clients collude");
    let plan = BlobDigest::of(b"a plan");
    let first = collusion.shared((plan, 0));
    assert!(Arc::ptr_eq(&first, &collusion.shared((plan, 0))));
    assert!(!Arc::ptr_eq(&first, &collusion.shared((BlobDigest::of(b"another plan"), 0))));
    for version in 1..10 {
        collusion.shared((plan, version));
    }
    assert!(!Arc::ptr_eq(&first, &collusion.shared((plan, 0))));
    assert_eq!(collusion.agreed.lock().map(|agreed| agreed.len()).ok(), Some(VERSIONS_MAX));
}

#[test]
fn honest_clients_do_not_collude() {
    for adversary in [
        Value::Null,
        json!({ "attack": { "kind": "alie" } }),
        json!({ "share": 0.5, "attack": { "kind": "sign_flip" } }),
    ] {
        let world: WorldSettings = serde_json::from_value(regression(&adversary)).expect("they are settings");
        let crowd = Crowd::deal(&world, DataSource::Made, false).expect("the examples can be divided");
        let task = description(6, &full_batches(), &json!({}));
        assert!(Collusion::of(&crowd, task.scheduling.policy()).is_none());
    }
}

#[test]
fn the_attackers_know_the_clients_of_a_round() {
    let policy = |scheduling: Value| -> folkmoot_coordinator::scheduling::SchedulingChoice {
        serde_json::from_value(scheduling).expect("it is a policy")
    };
    for (scheduling, clients, hostile, expected) in [
        (json!({ "kind": "synchronous", "report_goal": 30, "over_selection_factor": 1.0 }), 100, 20, (30, 6)),
        (json!({ "kind": "synchronous", "report_goal": 30 }), 20, 4, (20, 4)),
        (json!({ "kind": "buffered", "buffer_goal": 4, "concurrency": 12 }), 100, 1, (4, 1)),
        (json!({ "kind": "stale_synchronous", "bound": 1, "concurrency": 12 }), 100, 50, (12, 6)),
    ] {
        let found = cohort(policy(scheduling).policy(), clients, hostile);
        assert_eq!((found.clients, found.hostile), expected);
    }
}
