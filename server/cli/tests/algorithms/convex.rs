//! L-BFGS and the proximal step at the coordinator, against the textbook with vectors in double precision.

use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::Work;
use folkmoot_simulation::simulate::Crowd;
use serde_json::{Value, json};

use crate::{
    algorithms::objective::{Objective, digits, plan},
    simulate::{MODEL, run, task, world},
};

const RATE: f64 = 0.05;
const ROUNDS: u64 = 6;

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn minus(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter().zip(other).map(|(one, other)| one - other).collect()
}

fn add(sum: &mut [f64], factor: f64, other: &[f64]) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += factor * other);
}

/// Nocedal and Wright 2006: algorithm 7.4 by its recursion, H·g = Vᵀ·(H·(V·g)) + ρ·s·(sᵀ·g) with V = I − ρ·y·sᵀ (equation 7.16), which
/// does not need two loops.
fn inverse_hessian(pairs: &[(Vec<f64>, Vec<f64>)], scale: f64, gradient: &[f64]) -> Vec<f64> {
    let Some(((s, y), older)) = pairs.split_last() else {
        return gradient.iter().map(|slope| scale * slope).collect();
    };
    let rho = 1.0 / dot(s, y);
    let mut inner = gradient.to_vec();
    add(&mut inner, -rho * dot(s, gradient), y);
    let mut found = inverse_hessian(older, scale, &inner);
    let by_y = dot(y, &found);
    add(&mut found, -rho * by_y, s);
    add(&mut found, rho * dot(s, gradient), s);
    found
}

/// Returns the weights after the commits. `step` gets the weights of all versions and the pseudo-gradients at them.
fn descended(step: impl Fn(&[Vec<f64>], &[Vec<f64>]) -> Vec<f64>) -> Vec<f64> {
    let settings = world(&json!({
        "clients": 2, "held_out_share": 0.8, "partition": { "kind": "shards", "shards_per_client": 3 },
    }));
    let crowd = Crowd::deal(&settings, digits(), false).expect("the digits can be divided");
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    let examples = [0, 1].map(|client| crowd.examples(client, Work::Training).expect("it has examples"));
    let mut versions = vec![model.initial_weights().into_iter().map(f64::from).collect::<Vec<_>>()];
    let mut gradients = Vec::new();
    for _ in 0..ROUNDS {
        let newest = versions.last().expect("there is one");
        let mut mean = vec![0.0; newest.len()];
        for examples in &examples {
            add(&mut mean, 0.5 * RATE, &Objective { model: &model, examples }.gradient(newest));
        }
        gradients.push(mean);
        versions.push(step(&versions, &gradients));
    }
    versions.pop().expect("there is one")
}

async fn trained(finalizer: Value) -> Vec<f64> {
    let settings = world(&json!({
        "clients": 2, "held_out_share": 0.8, "partition": { "kind": "shards", "shards_per_client": 3 },
    }));
    let description = task(&json!({
        "plan": plan(RATE, 1),
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "finalizer": finalizer,
        "stop": { "rounds": ROUNDS },
    }));
    run(description, settings, 2).await.weights.iter().copied().map(f64::from).collect()
}

fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

#[tokio::test]
async fn l_bfgs_is_the_textbooks_through_the_coordinator() {
    let history = 3;
    let expected = descended(|versions, gradients| {
        let changes = |all: &[Vec<f64>]| -> Vec<Vec<f64>> {
            all.windows(2).map(|pair| minus(&pair[1], &pair[0])).collect()
        };
        let pairs = changes(versions).into_iter().zip(changes(gradients));
        let pairs: Vec<_> =
            pairs.filter(|(s, y)| dot(s, y) > 1e-6 * (dot(s, s) * dot(y, y)).sqrt()).collect();
        let pairs = &pairs[pairs.len().saturating_sub(history)..];
        let scale = pairs.last().map_or(1.0, |(s, y)| dot(s, y) / dot(y, y));
        let gradient = gradients.last().expect("there is one");
        minus(versions.last().expect("there is one"), &inverse_hessian(pairs, scale, gradient))
    });
    let plain = descended(|versions, gradients| {
        minus(&versions[versions.len() - 1], &gradients[gradients.len() - 1])
    });
    let found = trained(json!({ "kind": "l_bfgs", "history": history })).await;
    let (off, moved) = (distance(&found, &expected), distance(&found, &plain));
    assert!(off < 1e-3 * moved && moved > 1e-2, "off by {off}, moved by {moved}");
}

#[tokio::test]
async fn the_proximal_step_at_the_coordinator_makes_versions_sparse() {
    let threshold = 1e-3;
    let expected = descended(|versions, gradients| {
        let moved = minus(&versions[versions.len() - 1], &gradients[gradients.len() - 1]);
        moved.into_iter().map(|v| v.signum() * (v.abs() - threshold).max(0.0)).collect()
    });
    let found = trained(json!({ "kind": "proximal", "threshold": threshold })).await;
    assert!(distance(&found, &expected) < 2e-6, "{}", distance(&found, &expected));
    let zeros = |weights: &[f64]| weights.iter().filter(|weight| **weight == 0.0).count();
    assert!(zeros(&found) > 100 && zeros(&found).abs_diff(zeros(&expected)) <= 2, "{}", zeros(&found));
}

#[test]
fn l_bfgs_needs_plain_gradients() {
    let plan = |epochs: u32, steps_max: Option<u32>| {
        json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": epochs, "steps_max": steps_max, "batch_size": 10_000,
        })
    };
    let with = |key: &str, value: Value| -> Vec<String> {
        let mut changes = json!({
            "plan": plan(1, None), "aggregator": { "kind": "uniform_mean" }, "finalizer": { "kind": "l_bfgs" },
            "scheduling": { "kind": "synchronous", "report_goal": 100 },
        });
        changes[key] = value;
        task(&changes).validate().into_iter().map(|fault| fault.field).collect()
    };
    for right in [plan(1, None), plan(5, Some(1))] {
        assert_eq!(with("plan", right), [""; 0]);
    }
    assert_eq!(with("protection", json!({ "secure_aggregation": { "corrupt_share": 0.1 } })), [""; 0]);
    let changed = |key: &str, value: Value| {
        let mut plan = plan(1, None);
        plan[key] = value;
        plan
    };
    for (key, value) in [
        ("plan", plan(2, None)),
        ("plan", changed("optimizer", json!({ "adam": { "learning_rate": 0.1 } }))),
        ("plan", changed("gradient_clipping", json!({ "norm": 1.0 }))),
        ("plan", changed("l1", json!({ "strength": 0.01, "tensors": ["*"] }))),
        ("compression", json!({ "codec": "eden:4" })),
        ("aggregator", json!({ "kind": "median" })),
        ("privacy", json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 })),
        ("scheduling", json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 })),
    ] {
        assert_eq!(with(key, value), ["finalizer.kind"], "{key}");
    }
}
