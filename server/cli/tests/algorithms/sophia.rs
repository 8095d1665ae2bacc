//! Sophia through the coordinator, on a loss whose Hessian is diagonal: then the estimates of its diagonal are exact.

use folkmoot_data::{LabelKind, ReadOptions, read};
use folkmoot_engine::{ImportLimits, Model, onnx::build::mlp};
use folkmoot_simulation::simulate::DataSource;
use serde_json::json;

use crate::simulate::{run_over, simulation, task, world};

/// Each example of a client has one feature that is not 0, with its target. So half of the Hessian's diagonal is the square of that
/// feature, divided by the number of examples.
const CLIENTS: [[(f64, f64); 3]; 2] =
    [[(1.0, 2.0), (3.0, -1.0), (0.5, 4.0)], [(2.0, 1.0), (0.25, 3.0), (1.5, -2.0)]];
const START: [f64; 3] = [0.5, -0.25, 1.0];
const STEPS: usize = 5;
const ROUNDS: usize = 2;
const INTERVAL: usize = 2;
const RATE: f64 = 0.2;
const BETA1: f64 = 0.5;
const BETA2: f64 = 0.75;
const GAMMA: f64 = 4.0;
const EPSILON: f64 = 1e-3;
const DECAY: f64 = 0.1;

/// Algorithm 3 of Liu et al. 2024 with the exact diagonal, on the mean of (s·w − t)² over a client's examples. Returns how many
/// changes of a weight were cut to the largest one.
fn sophia(client: &[(f64, f64)], weights: &mut [f64]) -> usize {
    let share = 2.0 / client.len() as f64;
    let (mut means, mut curvatures, mut cut) = ([0.0; 3], [0.0; 3], 0);
    for step in 0..STEPS {
        for (index, (scale, target)) in client.iter().enumerate() {
            let gradient = share * scale * (scale * weights[index] - target);
            means[index] = BETA1 * means[index] + (1.0 - BETA1) * gradient;
            if step % INTERVAL == 0 {
                curvatures[index] = BETA2 * curvatures[index] + (1.0 - BETA2) * share * scale * scale;
            }
            weights[index] -= RATE * DECAY * weights[index];
            let divisor = f64::max(GAMMA * curvatures[index], EPSILON);
            let change: f64 = means[index] / divisor;
            cut += usize::from(change.abs() > 1.0);
            weights[index] -= RATE * change.clamp(-1.0, 1.0);
        }
    }
    cut
}

#[tokio::test]
async fn sophia_is_the_papers_with_exact_curvature_through_the_coordinator() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let file = folder.path().join("examples.csv");
    let rows = CLIENTS.iter().enumerate().flat_map(|(client, examples)| {
        examples.iter().enumerate().map(move |(index, (scale, target))| {
            let feature = |column| if column == index { *scale } else { 0.0 };
            format!("{},{},{},{target},client {client}\n", feature(0), feature(1), feature(2))
        })
    });
    let rows: String = rows.collect();
    std::fs::write(&file, format!("x0,x1,x2,label,client\n{rows}")).expect("there is room for a file");
    let options = ReadOptions {
        label_column: Some("label".into()),
        group_column: Some("client".into()),
        label_kind: LabelKind::Target,
        ..ReadOptions::default()
    };
    let training = read(&file, &options).expect("the examples are there");
    let held_out = Some(training.examples.clone());
    let description = task(&json!({
        "plan": {
            "loss": "mean_squared_error", "epochs": STEPS, "batch_size": 100, "frozen": ["*.bias"],
            "optimizer": { "sophia": {
                "learning_rate": RATE, "beta1": BETA1, "beta2": BETA2, "gamma": GAMMA, "epsilon": EPSILON,
                "weight_decay": DECAY, "interval": INTERVAL,
            } },
        },
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "stop": { "rounds": ROUNDS },
    }));
    let settings = world(&json!({ "clients": 2, "partition": { "kind": "natural" } }));
    let mut simulation = simulation(description, settings, 1, None);
    let model = Model::from_onnx(&mlp(&[3, 1], 1), &ImportLimits::default()).expect("it is a model");
    let start: Vec<f32> = START.iter().map(|weight| *weight as f32).chain([0.0]).collect();
    simulation.onnx = model.export_onnx(&start).expect("there are as many weights").into();
    simulation.source = DataSource::Given { training, held_out };
    let found = run_over(simulation).await.weights;

    let (mut expected, mut cut) = (START.to_vec(), 0);
    for _ in 0..ROUNDS {
        let locals = CLIENTS.map(|client| {
            let mut local = expected.clone();
            cut += sophia(&client, &mut local);
            local
        });
        expected = (0..3).map(|index| (locals[0][index] + locals[1][index]) / 2.0).collect();
    }
    for (found, expected) in found.iter().zip(&expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-5, "{found:?}, not {expected:?}");
    }
    // Some changes are cut to the largest one, and most are not.
    assert!((10..30).contains(&cut), "{cut} of {}", ROUNDS * STEPS * 6);
}
