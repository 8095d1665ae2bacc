//! Losses, optimizers and steps of clients through the coordinator, against the papers' equations on a network that is written
//! out by hand.

mod contrast;
mod examples;
mod fine_tuning;
mod matrix;
mod network;

use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::Work;
use folkmoot_simulation::simulate::{Crowd, WorldSettings};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::{digits, plan},
    simulate::{MODEL, run, task, world},
};
use matrix::{multiply, root_mean_square, transposed};
use network::{Digits, OfLogits, SHAPES, cross_entropy};

/// The local learning rate.
const RATE: f64 = 0.1;
/// The number of local steps.
const STEPS: usize = 3;
const ROUNDS: u64 = 2;

fn settings() -> WorldSettings {
    world(&json!({
        "clients": 2, "held_out_share": 0.8, "partition": { "kind": "shards", "shards_per_client": 3 },
    }))
}

/// The examples of both clients, and the weights of the first version.
struct Scene {
    clients: [Digits; 2],
    start: Vec<f64>,
}

impl Scene {
    fn new() -> Self {
        let crowd = Crowd::deal(&settings(), digits(), false).expect("the digits can be divided");
        let examples = |client| crowd.examples(client, Work::Training).expect("it has examples");
        let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
        Self {
            clients: [0, 1].map(|client| Digits::new(&examples(client))),
            start: model.initial_weights().into_iter().map(f64::from).collect(),
        }
    }

    /// Returns the model after the rounds, in which each client changes its copy in `train`.
    fn averaged(&self, train: impl Fn(&Digits, &mut Vec<f64>)) -> Vec<f64> {
        let mut model = self.start.clone();
        for _ in 0..ROUNDS {
            let mut mean = vec![0.0; model.len()];
            for client in &self.clients {
                let mut local = model.clone();
                train(client, &mut local);
                for (mean, weight) in mean.iter_mut().zip(&local) {
                    *mean += weight / self.clients.len() as f64;
                }
            }
            model = mean;
        }
        model
    }

    /// Returns the model of plain gradient descent on a loss with this derivative.
    fn descended(&self, of_logits: OfLogits<'_>) -> Vec<f64> {
        self.averaged(|client, weights| {
            for _ in 0..STEPS {
                let gradient = client.gradient(weights, of_logits);
                weights.iter_mut().zip(gradient).for_each(|(weight, slope)| *weight -= RATE * slope);
            }
        })
    }
}

/// Returns the model of a task whose plan has these keys, with the mean of both clients as aggregate.
async fn trained(keys: Value) -> Vec<f64> {
    let mut plan = plan(RATE, STEPS);
    for (key, value) in keys.as_object().expect("keys are an object") {
        plan[key] = value.clone();
    }
    let description = task(&json!({
        "plan": plan,
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "stop": { "rounds": ROUNDS },
    }));
    run(description, settings(), 2).await.weights.iter().copied().map(f64::from).collect()
}

/// Returns the largest difference of a weight.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

/// Compares the model of a plan with the expected one. The model of plain training must differ from it.
async fn assert_trained(keys: Value, expected: &[f64], plain: &[f64]) {
    assert_within(2e-6, keys, expected, plain).await;
}

async fn assert_within(tolerance: f64, keys: Value, expected: &[f64], plain: &[f64]) {
    let found = trained(keys.clone()).await;
    let (off, moved) = (distance(&found, expected), distance(&found, plain));
    assert!(off < tolerance && moved > 1e-3, "{keys}: off by {off}, moved by {moved}");
}

#[tokio::test]
async fn losses_against_wrong_labels_are_the_papers_through_the_coordinator() {
    let scene = Scene::new();
    let plain = scene.descended(&cross_entropy);
    assert!(distance(&trained(json!({})).await, &plain) < 2e-6, "cross-entropy itself");
    let q = 0.7;
    // The derivative of (1 − p^q) / q by a logit is p^q times that of −log p (Zhang and Sabuncu 2018, section 3.2).
    let generalized = scene.descended(&|probabilities, class| {
        let power = probabilities[class].powf(q);
        cross_entropy(probabilities, class).iter().map(|slope| power * slope).collect()
    });
    let keys = json!({ "loss": { "generalized_cross_entropy": { "q": q } } });
    assert_trained(keys, &generalized, &plain).await;
    // The reverse term is −A·(1 − p), so its derivative is A·p times that of log p, up to the sign: −A·p·(p − t).
    let (alpha, beta, floor) = (0.5, 2.0, -3.0);
    let symmetric = scene.descended(&|probabilities, class| {
        let factor = alpha - beta * floor * probabilities[class];
        cross_entropy(probabilities, class).iter().map(|slope| factor * slope).collect()
    });
    let keys =
        json!({ "loss": { "symmetric_cross_entropy": { "alpha": alpha, "beta": beta, "floor": floor } } });
    assert_trained(keys, &symmetric, &plain).await;
    let smoothed = scene.descended(&|probabilities, class| {
        let target = |index: usize| if index == class { 0.75 + 0.25 / 10.0 } else { 0.25 / 10.0 };
        probabilities.iter().enumerate().map(|(index, p)| p - target(index)).collect()
    });
    assert_trained(json!({ "label_smoothing": 0.25 }), &smoothed, &plain).await;
}

#[tokio::test]
async fn flat_minima_are_looked_for_as_in_the_paper_through_the_coordinator() {
    let scene = Scene::new();
    let plain = scene.descended(&cross_entropy);
    let radius = 0.5;
    // Qu et al. 2022, algorithm 1: both gradients are computed on the same batch, here all examples.
    let flat = scene.averaged(|client, weights| {
        for _ in 0..STEPS {
            let first = client.gradient(weights, &cross_entropy);
            let norm = first.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
            let climbed: Vec<f64> =
                weights.iter().zip(&first).map(|(weight, slope)| weight + radius / norm * slope).collect();
            let second = client.gradient(&climbed, &cross_entropy);
            weights.iter_mut().zip(second).for_each(|(weight, slope)| *weight -= RATE * slope);
        }
    });
    let plan = json!({ "sharpness_aware": { "radius": radius } });
    assert_trained(plan.clone(), &flat, &plain).await;
    // With batches of a few examples whose gradients are added up, the step is the same.
    let mut in_parts = plan;
    (in_parts["batch_size"], in_parts["accumulation_steps"]) = (json!(10), json!(1000));
    assert_trained(in_parts, &flat, &plain).await;
}

#[tokio::test]
async fn labels_count_as_their_classes_weigh_through_the_coordinator() {
    let scene = Scene::new();
    let weights: [f64; 10] = [0.5, 1.0, 2.0, 0.25, 1.5, 0.0, 1.0, 3.0, 0.75, 1.0];
    let expected = scene.descended(&|probabilities, class| {
        cross_entropy(probabilities, class).iter().map(|slope| weights[class] * slope).collect()
    });
    let plain = scene.descended(&cross_entropy);
    assert_trained(json!({ "class_weights": weights }), &expected, &plain).await;
}

/// Five steps of Newton-Schulz (Jordan et al. 2024), row by row.
fn orthogonal(matrix: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    if rows > columns {
        return transposed(&orthogonal(&transposed(matrix, columns), columns, rows), rows);
    }
    let norm = matrix.iter().map(|value| value * value).sum::<f64>().sqrt() + 1e-7;
    let mut x: Vec<f64> = matrix.iter().map(|value| value / norm).collect();
    for _ in 0..5 {
        let square = multiply(&x, &transposed(&x, columns), columns);
        let fourth = multiply(&square, &square, rows);
        let factor: Vec<f64> =
            square.iter().zip(&fourth).map(|(square, fourth)| -4.775 * square + 2.0315 * fourth).collect();
        let change = multiply(&factor, &x, rows);
        x = x.iter().zip(change).map(|(x, change)| 3.4445 * x + change).collect();
    }
    x
}

/// Changes the weights of one tensor at a time by `rule`, in each step of each client. `rule` gets the tensor's number, the step
/// from 1, its weights, its gradient, and two states that begin with zeros in each round.
fn stepped(scene: &Scene, rule: impl Fn(&[usize], f64, &mut [f64], &[f64], &mut [Vec<f64>; 2])) -> Vec<f64> {
    scene.averaged(|client, weights| {
        let mut states = SHAPES.map(|shape| [0, 1].map(|_| vec![0.0; shape.iter().product()]));
        for step in 1..=STEPS {
            let gradient = client.gradient(weights, &cross_entropy);
            let mut at = 0;
            for (shape, states) in SHAPES.iter().zip(&mut states) {
                let range = at..at + shape.iter().product::<usize>();
                at = range.end;
                rule(shape, step as f64, &mut weights[range.clone()], &gradient[range], states);
            }
        }
    })
}

#[tokio::test]
async fn muon_is_the_papers_through_the_coordinator() {
    let scene = Scene::new();
    let [rate, momentum, decay, beta1, beta2]: [f64; 5] = [0.02, 0.9, 0.1, 0.8, 0.9];
    let plain = scene.descended(&cross_entropy);
    let expected = stepped(&scene, |shape, step, weights, gradient, [means, squares]| {
        for index in 0..weights.len() {
            weights[index] *= 1.0 - rate * decay;
            let slope = gradient[index];
            means[index] = match shape.len() {
                2 => momentum * means[index] + slope,
                _ => beta1 * means[index] + (1.0 - beta1) * slope,
            };
            squares[index] = beta2 * squares[index] + (1.0 - beta2) * slope * slope;
        }
        if let [rows, columns] = *shape {
            let ahead: Vec<f64> =
                gradient.iter().zip(&*means).map(|(slope, mean)| slope + momentum * mean).collect();
            let scale = 0.2 * (rows.max(columns) as f64).sqrt();
            let direction = orthogonal(&ahead, rows, columns);
            weights.iter_mut().zip(direction).for_each(|(weight, one)| *weight -= rate * scale * one);
        } else {
            for index in 0..weights.len() {
                let mean = means[index] / (1.0 - beta1.powf(step));
                let square = squares[index] / (1.0 - beta2.powf(step));
                weights[index] -= rate * mean / (square.sqrt() + 1e-3);
            }
        }
    });
    let muon = json!({
        "learning_rate": rate, "momentum": momentum, "weight_decay": decay, "beta1": beta1, "beta2": beta2, "epsilon": 1e-3,
    });
    assert_within(2e-5, json!({ "optimizer": { "muon": muon } }), &expected, &plain).await;
}

#[tokio::test]
async fn adafactor_is_the_papers_through_the_coordinator() {
    let scene = Scene::new();
    let (rate, decay): (f64, f64) = (0.05, 0.1);
    let plain = scene.descended(&cross_entropy);
    let expected = stepped(&scene, |shape, step, weights, gradient, [row_sums, column_sums]| {
        let share = step.powf(-0.8);
        let squares: Vec<f64> = gradient.iter().map(|slope| slope * slope + 1e-30).collect();
        let mut update = gradient.to_vec();
        if let [rows, columns] = *shape {
            // Sums, as in the paper's algorithm 4.
            let sum_of = |of: &dyn Fn(usize) -> bool| -> f64 {
                squares.iter().enumerate().filter(|(index, _)| of(*index)).map(|(_, square)| square).sum()
            };
            for (row, old) in row_sums.iter_mut().take(rows).enumerate() {
                *old = (1.0 - share) * *old + share * sum_of(&|index| index / columns == row);
            }
            for (column, old) in column_sums.iter_mut().take(columns).enumerate() {
                *old = (1.0 - share) * *old + share * sum_of(&|index| index % columns == column);
            }
            let whole: f64 = row_sums[..rows].iter().sum();
            for (index, update) in update.iter_mut().enumerate() {
                *update /= (row_sums[index / columns] * column_sums[index % columns] / whole).sqrt();
            }
        } else {
            for index in 0..weights.len() {
                row_sums[index] = (1.0 - share) * row_sums[index] + share * squares[index];
                update[index] /= row_sums[index].sqrt();
            }
        }
        let size = root_mean_square(weights).max(1e-3);
        let factor = size * rate.min(1.0 / step.sqrt()) / root_mean_square(&update).max(1.0);
        for (weight, update) in weights.iter_mut().zip(update) {
            *weight -= factor * update + rate * decay * *weight;
        }
    });
    let adafactor = json!({ "learning_rate": rate, "weight_decay": decay });
    assert_within(2e-5, json!({ "optimizer": { "adafactor": adafactor } }), &expected, &plain).await;
}
