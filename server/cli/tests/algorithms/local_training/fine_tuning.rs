//! The fine-tuning in evaluations, against gradient descent on the network that is written out by hand.

use serde_json::json;

use super::{RATE, STEPS, Scene, cross_entropy, network::Digits, plan, settings};
use crate::simulate::{run, task};

const ROUNDS: u64 = 7;
/// Clients train while they could evaluate, so not every version is measured before the next one.
const EVERY: u64 = 3;
const EPOCHS: usize = 4;
const TUNING_RATE: f64 = 0.2;

/// `SplitMix64`, which orders the examples.
fn hash(number: u64) -> u64 {
    let steps = [(30, 0xbf58_476d_1ce4_e5b9_u64), (27, 0x94d0_49bb_1331_11eb), (31, 1)];
    let start = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    steps.iter().fold(start, |mixed, (shift, factor)| (mixed ^ (mixed >> shift)).wrapping_mul(*factor))
}

/// Divides a client's examples into those to train with, and a quarter to measure.
fn divided(client: &Digits) -> [Digits; 2] {
    let mut order: Vec<usize> = (0..client.len()).collect();
    order.sort_by_key(|row| hash(*row as u64));
    let (held_out, trained) = order.split_at((client.len() as f64 / 4.0).round() as usize);
    [client.subset(trained, false), client.subset(held_out, false)]
}

fn descend(client: &Digits, weights: &mut [f64], (rate, steps): (f64, usize)) {
    for _ in 0..steps {
        let gradient = client.gradient(weights, &cross_entropy);
        weights.iter_mut().zip(gradient).for_each(|(weight, slope)| *weight -= rate * slope);
    }
}

/// Returns the mean loss and the share of correct predictions of all clients on their held-out examples.
fn measured(clients: &[(Digits, Vec<f64>)]) -> [f64; 2] {
    let losses: Vec<f64> = clients.iter().flat_map(|(examples, weights)| examples.losses(weights)).collect();
    let correct: usize = clients.iter().map(|(examples, weights)| examples.correct(weights)).sum();
    [losses.iter().sum::<f64>() / losses.len() as f64, correct as f64 / losses.len() as f64]
}

#[tokio::test]
async fn versions_are_measured_before_and_after_a_fine_tuning_through_the_coordinator() {
    let scene = Scene::new();
    let mut version = scene.start.clone();
    let mut expected = Vec::new();
    for _ in 0..ROUNDS {
        let mut mean = vec![0.0; version.len()];
        for client in &scene.clients {
            let mut local = version.clone();
            descend(client, &mut local, (RATE, STEPS));
            mean.iter_mut().zip(&local).for_each(|(mean, weight)| *mean += weight / 2.0);
        }
        version = mean;
        let of = |steps: usize| {
            let clients = scene.clients.iter().map(|client| {
                let ([trained, held_out], mut weights) = (divided(client), version.clone());
                descend(&trained, &mut weights, (TUNING_RATE, steps));
                (held_out, weights)
            });
            measured(&clients.collect::<Vec<_>>())
        };
        expected.push([of(0), of(EPOCHS)]);
    }
    let tuning = json!({ "epochs": EPOCHS, "learning_rate": TUNING_RATE, "held_out_share": 0.25 });
    let description = task(&json!({
        "plan": plan(RATE, STEPS),
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "evaluation": { "every_versions": EVERY, "federated": { "report_goal": 2, "minimum_cohort": 2, "fine_tuning": tuning } },
        "stop": { "rounds": ROUNDS },
    }));
    let outcome = run(description, settings(), 2).await;
    let mut found = 0;
    for row in &outcome.rounds {
        let Some(loss) = row.held_out_loss else { continue };
        found += 1;
        let version = row.version.expect("a version was measured") as usize;
        let [before, after] = expected[version - 1];
        let pairs = [
            (Some(loss), before[0]),
            (row.held_out_metric, before[1]),
            (row.fine_tuned_loss, after[0]),
            (row.fine_tuned_metric, after[1]),
        ];
        for (found, expected) in pairs {
            let found = found.expect("both were measured");
            assert!((found - expected).abs() < 1e-5, "version {version}: {found} is not {expected}");
        }
        assert!(
            after[0] < 0.8 * before[0],
            "a fine-tuning helps clients with few classes: {before:?} {after:?}"
        );
    }
    assert!(found > 0, "no version was measured: {:?}", outcome.rounds);
}
