//! Clustered tasks through the coordinator, in a virtual world.

use folkmoot_engine::{Examples, ImportLimits, Model, Trainer, Travelling, evaluate};
use folkmoot_protocol::{BlobDigest, Work};
use folkmoot_simulation::simulate::{Crowd, WorldSettings};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::digits,
    simulate::{MODEL, run, task, world},
};

const CLUSTERS: usize = 3;

/// Returns a plan of full batches, so that the order of the examples has no effect.
fn plan(tensors: &[&str]) -> Value {
    json!({
        "loss": "softmax_cross_entropy",
        "optimizer": { "sgd": { "learning_rate": 0.2 } },
        "epochs": 3,
        "batch_size": 10_000,
        "clusters": { "count": CLUSTERS, "tensors": tensors },
    })
}

/// IFCA as Ghosh et al. 2020 write it, algorithm 1 with model averaging, over these clients, with one list of weights for each
/// cluster. Tensors that do not match are common to all clusters (their section on weight sharing): they are averaged over all
/// clients. Returns the weights of the clusters, and how many examples the clients of each had in each round.
fn ifca(
    own: impl Fn(usize) -> bool,
    rounds: u64,
    plan: &Value,
    clients: &[Examples],
) -> (Vec<Vec<f64>>, Vec<Vec<usize>>) {
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    let mut plan: folkmoot_engine::TrainingPlan = serde_json::from_value(plan.clone()).expect("it is a plan");
    let travelling = Travelling::of(&model, &plan).expect("the patterns match");
    let digest = BlobDigest::of(MODEL);
    let seed = u64::from_le_bytes(*digest.as_bytes().first_chunk().expect("32 bytes"));
    let values = travelling.starting(&model.initial_weights(), seed).expect("it is whole");
    let of = |cluster| travelling.fill(values.clone(), Some(cluster)).expect("there are three");
    let mut models: Vec<Vec<f64>> =
        (0..CLUSTERS).map(|cluster| of(cluster).into_iter().map(f64::from).collect()).collect();
    plan.clusters = None;
    let mut sizes = Vec::new();
    for _ in 0..rounds {
        let mut changes = vec![vec![0.0; models[0].len()]; CLUSTERS];
        let mut weight = [0.0; CLUSTERS];
        let mut size = vec![0; CLUSTERS];
        for examples in clients {
            let starts: Vec<Vec<f32>> =
                models.iter().map(|model| model.iter().map(|value| *value as f32).collect()).collect();
            let loss = |start: &Vec<f32>| {
                evaluate(&model, start, examples, plan.loss).expect("the examples fit").loss_sum
            };
            let losses: Vec<f64> = starts.iter().map(loss).collect();
            let best =
                (0..CLUSTERS).min_by(|one, other| losses[*one].total_cmp(&losses[*other])).expect("three");
            let mut trainer =
                Trainer::new(&model, &starts[best], plan.clone(), examples, 1).expect("the examples fit");
            while !trainer.step().expect("it does not diverge").finished {}
            let share = examples.len() as f64;
            for ((sum, now), start) in
                changes[best].iter_mut().zip(trainer.finish().weights).zip(&starts[best])
            {
                *sum += share * f64::from(now - start);
            }
            weight[best] += share;
            size[best] += examples.len();
        }
        let all: f64 = weight.iter().sum();
        for index in 0..models[0].len() {
            let common: f64 = changes.iter().map(|change| change[index]).sum::<f64>() / all;
            for cluster in 0..CLUSTERS {
                models[cluster][index] += match own(index) {
                    true if weight[cluster] > 0.0 => changes[cluster][index] / weight[cluster],
                    true => 0.0,
                    false => common,
                };
            }
        }
        sizes.push(size);
    }
    (models, sizes)
}

fn settings() -> WorldSettings {
    world(&json!({ "clients": 5, "partition": { "kind": "shards", "shards_per_client": 2 } }))
}

/// Runs two rounds in which all five clients take part, and compares every cluster with the algorithm by hand.
async fn expect_ifca(tensors: &[&str], own: impl Fn(usize) -> bool, changes: Value) {
    let settings = settings();
    let crowd = Crowd::deal(&settings, digits(), true).expect("the digits can be divided");
    let clients: Vec<Examples> = (0..5)
        .map(|client| crowd.examples(client, Work::Training).expect("the client has examples"))
        .collect();
    let (models, sizes) = ifca(own, 2, &plan(tensors), &clients);
    assert!(sizes.iter().all(|size| size.iter().filter(|size| **size > 0).count() > 1), "{sizes:?}");
    let mut description = json!({
        "plan": plan(tensors),
        "scheduling": { "kind": "synchronous", "report_goal": 5, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "weighted_mean" },
        "stop": { "rounds": 2 },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        description[key] = value.clone();
    }
    let outcome = run(task(&description), settings, 2).await;
    assert_eq!((outcome.version, outcome.clusters.len()), (2, CLUSTERS));
    let start = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model").initial_weights();
    for (found, expected) in outcome.clusters.iter().zip(&models) {
        let off = found.iter().zip(expected).map(|(found, expected)| (f64::from(*found) - expected).abs());
        let off = off.fold(0.0, f64::max);
        // The coordinator's grid has 28 bits behind the point, and full batches are summed in another order.
        assert!(off < 1e-5, "{tensors:?} {changes}: off by {off}");
    }
    let moved = outcome.clusters[0].iter().zip(&start).map(|(now, before)| (now - before).abs());
    assert!(moved.fold(0.0, f32::max) > 0.01, "{tensors:?}");
    let last = sizes.last().expect("two rounds");
    let largest = (0..CLUSTERS).rev().max_by_key(|cluster| last[*cluster]).expect("three");
    assert_eq!(outcome.weights, *outcome.clusters[largest], "the one with the largest share of {last:?}");
}

#[tokio::test]
async fn every_cluster_is_ifcas_to_the_last_digit_of_the_grid() {
    expect_ifca(&[], |_| true, json!({})).await;
}

/// The first layer, with 64·32 weights and 32 biases, is common.
#[tokio::test]
async fn common_layers_are_averaged_over_all_clients() {
    let first = first_layer();
    expect_ifca(&["layer_2.*"], move |index| index >= first, json!({})).await;
}

fn first_layer() -> usize {
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    let specs = model.parameters().iter().filter(|spec| spec.name.starts_with("layer_1."));
    specs.map(|spec| spec.shape.iter().product::<usize>()).sum()
}

/// The zeros at the places of other clusters must survive every codec, or the coordinator would refuse the update.
#[tokio::test]
async fn every_codec_without_memory_keeps_an_update_in_its_cluster() {
    for codec in ["eden:4", "eden:2", "drive", "fixed:8", "qsgd:15"] {
        let description = task(&json!({
            "plan": plan(&[]),
            "scheduling": { "kind": "synchronous", "report_goal": 5, "over_selection_factor": 1.0 },
            "aggregator": { "kind": "weighted_mean" },
            "compression": { "codec": codec, "exact_below": 0 },
            "stop": { "rounds": 1 },
        }));
        let outcome = run(description, settings(), 2).await;
        let accepted = outcome.rounds.iter().map(|round| round.reported).sum::<u64>();
        assert_eq!((outcome.version, accepted), (1, 5), "{codec}");
    }
}
