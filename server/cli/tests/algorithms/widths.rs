//! Narrow models for weak devices through the coordinator, in a virtual world.

use folkmoot_engine::{Examples, ImportLimits, Model, Trainer};
use folkmoot_protocol::Work;
use folkmoot_simulation::simulate::{Crowd, WorldSettings};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::digits,
    simulate::{MODEL, run, task, world},
};

/// The hidden units of the model's widths.
const UNITS: [usize; 3] = [64, 32, 16];

/// Returns a plan of full batches, so that the order of the examples has no effect.
fn plan(widths: Option<Value>) -> Value {
    json!({
        "loss": "softmax_cross_entropy",
        "optimizer": { "sgd": { "learning_rate": 0.2 } },
        "epochs": 3,
        "batch_size": 10_000,
        "widths": widths,
    })
}

/// The memory that lets devices train the three widths in turn, whatever number of examples they have.
fn settings(memory_bytes_max: &[u64]) -> WorldSettings {
    world(&json!({
        "clients": 5,
        "partition": { "kind": "iid" },
        "devices": { "memory_bytes_max": memory_bytes_max },
    }))
}

/// Returns whether a model of this many hidden units has the weight at `index`. The tensors are layer_1.weight `[64, 64]`,
/// layer_1.bias `[64]`, layer_2.weight `[10, 64]` and layer_2.bias `[10]`.
fn is_in(units: usize, index: usize) -> bool {
    match index {
        0..4096 => index / 64 < units,
        4096..4160 => index - 4096 < units,
        4160..4800 => (index - 4160) % 64 < units,
        _ => true,
    }
}

/// HeteroFL by hand (Diao, Ding and Tarokh 2021, equations 2 and 3). A client of a width trains the whole model with zeros for all that
/// its width does not have: a unit of which all weights are 0 has no gradient, so it stays out. Each value becomes the mean over the clients
/// whose model has it.
fn hetero_fl(rounds: u64, clients: &[(usize, Examples)]) -> Vec<f64> {
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    let plan: folkmoot_engine::TrainingPlan = serde_json::from_value(plan(None)).expect("it is a plan");
    let mut weights: Vec<f64> = model.initial_weights().into_iter().map(f64::from).collect();
    for _ in 0..rounds {
        let (mut sums, mut counts) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
        for (units, examples) in clients {
            let masked = weights.iter().enumerate().map(|(index, weight)| match is_in(*units, index) {
                true => *weight as f32,
                false => 0.0,
            });
            let start: Vec<f32> = masked.collect();
            let mut trainer =
                Trainer::new(&model, &start, plan.clone(), examples, 1).expect("the examples fit");
            while !trainer.step().expect("it does not diverge").finished {}
            let share = examples.len() as f64;
            for (index, (now, start)) in trainer.finish().weights.iter().zip(&start).enumerate() {
                if is_in(*units, index) {
                    sums[index] += share * f64::from(now - start);
                    counts[index] += share;
                } else {
                    assert_eq!(*now, 0.0, "weight {index} of {units} units");
                }
            }
        }
        let means = sums.iter().zip(&counts).map(|(sum, count)| if *count > 0.0 { sum / count } else { 0.0 });
        weights.iter_mut().zip(means).for_each(|(weight, mean)| *weight += mean);
    }
    weights
}

fn description(widths: &Value, changes: &Value) -> Value {
    let mut description = json!({
        "plan": plan(Some(widths.clone())),
        "scheduling": { "kind": "synchronous", "report_goal": 5, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "weighted_mean" },
        "stop": { "rounds": 2 },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        description[key] = value.clone();
    }
    description
}

/// The five devices have memory for the widths 1, 2, 3, 1 and 2, and then nobody has memory for the whole model.
#[tokio::test]
async fn every_value_is_hetero_fls_through_the_coordinator() {
    let crowd = Crowd::deal(&settings(&[]), digits(), false).expect("the digits can be divided");
    for (memory, widths) in [(&[500_000, 350_000, 275_000][..], [0, 1, 2, 0, 1]), (&[350_000], [1; 5])] {
        let settings = settings(memory);
        let clients: Vec<(usize, Examples)> = (0..5)
            .map(|client| {
                (UNITS[widths[client]], crowd.examples(client, Work::Training).expect("it has examples"))
            })
            .collect();
        let expected = hetero_fl(2, &clients);
        let outcome =
            run(task(&description(&json!({ "ratios": [1.0, 0.5, 0.25] }), &json!({}))), settings, 2).await;
        assert_eq!(outcome.version, 2);
        let off = outcome
            .weights
            .iter()
            .zip(&expected)
            .map(|(found, expected)| (f64::from(*found) - expected).abs());
        let off = off.fold(0.0, f64::max);
        // The coordinator's grid has 28 bits behind the point, and sums of other lengths round differently.
        assert!(off < 1e-5, "{memory:?}: off by {off}");
    }
}

/// The zeros at the places of wider models must survive every codec, or the coordinator would refuse the update. With `sampled`, each
/// training draws one of the widths.
#[tokio::test]
async fn every_codec_without_memory_keeps_an_update_in_its_width() {
    for codec in ["eden:4", "drive", "fixed:8", "qsgd:15"] {
        let changes = json!({ "compression": { "codec": codec, "exact_below": 0 }, "stop": { "rounds": 3 } });
        let description = description(&json!({ "ratios": [1.0, 0.5, 0.25], "sampled": true }), &changes);
        let outcome = run(task(&description), settings(&[]), 2).await;
        let accepted = outcome.rounds.iter().map(|round| round.reported).sum::<u64>();
        assert_eq!((outcome.version, accepted), (3, 15), "{codec}");
    }
}
