//! Newton's method through the coordinator, against numpy with whole Hessians (`tests/engine/newton`).

use std::path::PathBuf;

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_data::{LabelKind, ReadOptions, read};
use folkmoot_engine::{ImportLimits, Model, onnx::build::mlp};
use folkmoot_simulation::simulate::DataSource;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::simulate::{run_over, simulation, task, world};

const FEATURES: usize = 4;
const CLASSES: usize = 3;

/// The results of numpy.
#[derive(Deserialize)]
struct Expected {
    damping: f64,
    learning_rate: f64,
    steps: usize,
    start: Vec<f32>,
    /// The solution of the normal equations.
    linear: Vec<f64>,
    /// The weights after each round.
    logistic: Vec<Vec<f64>>,
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/engine/newton")).join(name)
}

fn expected() -> Expected {
    let text = std::fs::read_to_string(path("newton.json")).expect("the results are there");
    serde_json::from_str(&text).expect("they have their form")
}

fn description(
    loss: &str,
    newton: &Value,
    steps: usize,
    (clients, rounds): (usize, usize),
) -> TaskDescription {
    task(&json!({
        "plan": {
            "loss": loss, "optimizer": { "newton": newton }, "epochs": steps, "batch_size": 10_000,
        },
        "scheduling": { "kind": "synchronous", "report_goal": clients, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "stop": { "rounds": rounds },
    }))
}

/// Trains from these weights on a file whose column `client` names the client of each example, or as one client.
async fn trained(description: TaskDescription, file: &str, clients: usize, start: &[f32]) -> Vec<f64> {
    let outputs = start.len() / (FEATURES + 1);
    let model =
        Model::from_onnx(&mlp(&[FEATURES, outputs], 1), &ImportLimits::default()).expect("it is a model");
    let options = ReadOptions {
        label_column: Some("label".into()),
        group_column: Some("client".into()),
        label_kind: if file == "targets.csv" { LabelKind::Target } else { LabelKind::Class },
        ..ReadOptions::default()
    };
    let training = read(&path(file), &options).expect("the examples are there");
    let held_out = Some(training.examples.clone());
    let partition = if clients == 1 { json!({ "kind": "iid" }) } else { json!({ "kind": "natural" }) };
    let settings = world(&json!({ "clients": clients, "partition": partition }));
    let mut simulation = simulation(description, settings, 1, None);
    simulation.onnx = model.export_onnx(start).expect("there are as many weights").into();
    simulation.source = DataSource::Given { training, held_out };
    run_over(simulation).await.weights.iter().copied().map(f64::from).collect()
}

fn distance(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

#[tokio::test]
async fn one_step_solves_a_linear_regression_through_the_coordinator() {
    let expected = expected();
    let start = [0.5, -1.0, 2.0, 0.25, -3.0];
    let newton = json!({ "damping": 0.0, "tolerance": 1e-6 });
    let found =
        trained(description("mean_squared_error", &newton, 1, (1, 1)), "targets.csv", 1, &start).await;
    let moved = distance(&start.map(f64::from), &expected.linear);
    let off = distance(&found, &expected.linear);
    assert!(moved > 3.0 && off < 5e-5 * moved, "off by {off} of {moved}: {found:?}");
    // A second step corrects the rounding of the first one's curvature.
    let twice =
        trained(description("mean_squared_error", &newton, 2, (1, 1)), "targets.csv", 1, &start).await;
    assert!(distance(&twice, &expected.linear) < 2e-6, "{twice:?}");
    // With the learning rate 0.5, a step goes half of the way.
    let half = json!({ "damping": 0.0, "tolerance": 1e-6, "learning_rate": 0.5 });
    let found = trained(description("mean_squared_error", &half, 1, (1, 1)), "targets.csv", 1, &start).await;
    let middle: Vec<f64> =
        expected.linear.iter().zip(start).map(|(end, start)| (end + f64::from(start)) / 2.0).collect();
    assert!(distance(&found, &middle) < 5e-5 * moved, "{found:?}");
}

#[tokio::test]
async fn averaged_newton_steps_of_two_clients_are_numpys_through_the_coordinator() {
    let expected = expected();
    let newton = json!({
        "damping": expected.damping, "learning_rate": expected.learning_rate, "cg_steps": 100, "tolerance": 1e-5,
    });
    assert_eq!(expected.start.len(), CLASSES * (FEATURES + 1));
    for (round, wanted) in (1..).zip(&expected.logistic) {
        let description = description("softmax_cross_entropy", &newton, expected.steps, (2, round));
        let found = trained(description, "classes.csv", 2, &expected.start).await;
        let off = distance(&found, wanted);
        assert!(off < 2e-4, "round {round}: off by {off}, {found:?}");
    }
    // The whole sequence moves far, so that the tolerance means something.
    let start: Vec<f64> = expected.start.iter().copied().map(f64::from).collect();
    assert!(expected.logistic.iter().all(|weights| distance(&start, weights) > 0.3));
}

#[test]
fn newton_is_refused_where_its_direction_would_be_wrong() {
    let fields = |changes: &Value| -> Vec<String> {
        task(changes).validate().into_iter().map(|fault| fault.field).collect()
    };
    let plan = |more: Value| {
        let mut plan = json!({
            "loss": "softmax_cross_entropy", "optimizer": { "newton": {} }, "epochs": 1, "batch_size": 10_000,
        });
        plan.as_object_mut().expect("it is an object").extend(more.as_object().expect("it is one").clone());
        plan
    };
    assert_eq!(fields(&json!({ "plan": plan(json!({})) })), [""; 0]);
    for more in [
        json!({ "loss": "hinge" }),
        json!({ "proximal_term": 0.1 }),
        json!({ "gradient_clipping": { "norm": 1.0 } }),
        json!({ "augmentation": { "noise": 0.1 } }),
    ] {
        assert_eq!(fields(&json!({ "plan": plan(more.clone()) })), ["plan.optimizer.newton"], "{more}");
    }
    let drift =
        json!({ "plan": plan(json!({})), "finalizer": { "kind": "fed_dyn", "clients": 10, "alpha": 0.1 } });
    assert!(fields(&drift).contains(&"plan.optimizer".to_owned()), "{:?}", fields(&drift));
}
