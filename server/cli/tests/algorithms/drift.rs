//! SCAFFOLD, FedDyn, FedDC and FedCM through the coordinator, in a virtual world.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::Work;
use folkmoot_simulation::simulate::{Crowd, WorldSettings};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::{Objective, digits, plan},
    simulate::{MODEL, run, task, world},
};

/// The local learning rate.
const RATE: f64 = 0.05;
/// The number of local steps.
const STEPS: usize = 3;
/// The number of clients in the task's settings. Only half of them, two, take part.
const CLIENTS: u64 = 4;

fn description(finalizer: Value, rounds: u64) -> TaskDescription {
    task(&json!({
        "plan": plan(RATE, STEPS),
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "finalizer": finalizer,
        "stop": { "rounds": rounds },
    }))
}

/// Returns the weights after the local steps, each against the gradient plus `extra` of the weights.
fn train(client: &Objective<'_>, start: &[f64], extra: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
    let mut weights = start.to_vec();
    for _ in 0..STEPS {
        client.step(&mut weights, RATE, &extra);
    }
    weights
}

/// SCAFFOLD as Karimireddy et al. 2020 write it, algorithm 1 with option II and the server's rate 1. Returns the model.
fn scaffold(clients: &[Objective<'_>], start: &[f64], rounds: u64) -> Vec<f64> {
    let (mut model, mut shared) = (start.to_vec(), vec![0.0; start.len()]);
    let mut own = vec![vec![0.0; start.len()]; clients.len()];
    let scale = 1.0 / (STEPS as f64 * RATE);
    for _ in 0..rounds {
        let (mut next, mut control) = (model.clone(), shared.clone());
        for (client, own) in clients.iter().zip(&mut own) {
            let local = train(client, &model, |_, index| shared[index] - own[index]);
            for index in 0..model.len() {
                let new = own[index] - shared[index] + scale * (model[index] - local[index]);
                next[index] += (local[index] - model[index]) / clients.len() as f64;
                control[index] += (new - own[index]) / CLIENTS as f64;
                own[index] = new;
            }
        }
        (model, shared) = (next, control);
    }
    model
}

/// FedDyn as Acar et al. 2021 write it, algorithm 1, where the local minimisation is some steps of gradient descent. Returns the
/// model.
fn fed_dyn(alpha: f64, clients: &[Objective<'_>], start: &[f64], rounds: u64) -> Vec<f64> {
    let (mut model, mut h) = (start.to_vec(), vec![0.0; start.len()]);
    let mut gradients = vec![vec![0.0; start.len()]; clients.len()];
    for _ in 0..rounds {
        let mut mean = vec![0.0; model.len()];
        for (client, gradient) in clients.iter().zip(&mut gradients) {
            let local = train(client, &model, |weights, index| {
                alpha * (weights[index] - model[index]) - gradient[index]
            });
            for index in 0..model.len() {
                let change = local[index] - model[index];
                gradient[index] -= alpha * change;
                mean[index] += local[index] / clients.len() as f64;
                h[index] -= alpha / CLIENTS as f64 * change;
            }
        }
        model = mean.iter().zip(&h).map(|(mean, h)| mean - h / alpha).collect();
    }
    model
}

/// FedDC as Gao et al. 2022 write it, with the loss of equations 3 to 5, the drifts of equation 6, and gᵢ and g as the mean gradients of
/// SCAFFOLD. The shared model is the mean of the local ones plus the mean of all drifts, as in the authors' code; if all clients take
/// part, that is equation 7. Returns the model.
fn fed_dc(alpha: f64, clients: &[Objective<'_>], start: &[f64], rounds: u64) -> Vec<f64> {
    let zeros = || vec![vec![0.0; start.len()]; CLIENTS as usize];
    let (mut model, mut drifts, mut gradients) = (start.to_vec(), zeros(), zeros());
    let mean = |of: &[Vec<f64>]| -> Vec<f64> {
        let sum = |index: usize| of.iter().map(|one| one[index]).sum::<f64>();
        (0..start.len()).map(|index| sum(index) / of.len() as f64).collect()
    };
    let scale = 1.0 / (STEPS as f64 * RATE);
    for _ in 0..rounds {
        let (shared, mut locals) = (mean(&gradients), Vec::new());
        for (client, (drift, gradient)) in clients.iter().zip(drifts.iter_mut().zip(&mut gradients)) {
            let local = train(client, &model, |weights, index| {
                let penalty = alpha * (drift[index] + weights[index] - model[index]);
                penalty + shared[index] - gradient[index]
            });
            for index in 0..model.len() {
                drift[index] += local[index] - model[index];
                gradient[index] += scale * (model[index] - local[index]) - shared[index];
            }
            locals.push(local);
        }
        model = mean(&locals).iter().zip(mean(&drifts)).map(|(local, drift)| local + drift).collect();
    }
    model
}

/// FedCM as Xu et al. 2021 write it, algorithm 1. Returns the model.
fn fed_cm(alpha: f64, clients: &[Objective<'_>], start: &[f64], rounds: u64) -> Vec<f64> {
    let (mut model, mut direction) = (start.to_vec(), vec![0.0; start.len()]);
    for _ in 0..rounds {
        let mut change = vec![0.0; model.len()];
        for client in clients {
            let mut local = model.clone();
            for _ in 0..STEPS {
                let gradient = client.gradient(&local);
                for index in 0..local.len() {
                    local[index] -= RATE * (alpha * gradient[index] + (1.0 - alpha) * direction[index]);
                }
            }
            for index in 0..model.len() {
                change[index] += (local[index] - model[index]) / clients.len() as f64;
            }
        }
        direction = change.iter().map(|change| -change / (RATE * STEPS as f64)).collect();
        model.iter_mut().zip(change).for_each(|(weight, change)| *weight += change);
    }
    model
}

#[tokio::test]
async fn control_variates_are_the_papers_through_the_coordinator() {
    let settings: WorldSettings =
        world(&json!({ "clients": 2, "partition": { "kind": "shards", "shards_per_client": 3 } }));
    let crowd = Crowd::deal(&settings, digits(), false).expect("the digits can be divided");
    let examples = [0, 1].map(|client| crowd.examples(client, Work::Training).expect("it has examples"));
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    let clients = examples.each_ref().map(|examples| Objective { model: &model, examples });
    let start: Vec<f64> = model.initial_weights().into_iter().map(f64::from).collect();
    let plain = run(description(json!({ "kind": "fed_avg" }), 4), settings.clone(), 2).await.weights;
    let cases = [
        (json!({ "kind": "scaffold", "clients": CLIENTS }), scaffold(&clients, &start, 4)),
        (json!({ "kind": "fed_dyn", "clients": CLIENTS, "alpha": 0.5 }), fed_dyn(0.5, &clients, &start, 4)),
        (json!({ "kind": "fed_dc", "clients": CLIENTS, "alpha": 0.5 }), fed_dc(0.5, &clients, &start, 4)),
        (json!({ "kind": "fed_cm", "alpha": 0.5 }), fed_cm(0.5, &clients, &start, 4)),
    ];
    for (finalizer, expected) in cases {
        let found = run(description(finalizer.clone(), 4), settings.clone(), 2).await.weights;
        let pairs = || found.iter().copied().map(f64::from).zip(&expected);
        let off = pairs().map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
        let moved =
            found.iter().zip(&plain).map(|(one, other)| f64::from((one - other).abs())).fold(0.0, f64::max);
        assert!(off < 5e-6 && moved > 0.01, "{finalizer}: off by {off}, moved by {moved}");
    }
}

/// Each client has two classes of ten, and trains long. The average forgets; corrected clients agree sooner.
#[tokio::test]
async fn corrected_clients_agree_sooner() {
    let settings = world(&json!({
        "clients": 10, "partition": { "kind": "shards", "shards_per_client": 2 },
    }));
    let accuracy = async |finalizer: Value| {
        let plan = json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 40, "steps_max": 40, "batch_size": 16,
        });
        let description = task(&json!({
            "plan": plan, "finalizer": finalizer, "aggregator": { "kind": "uniform_mean" }, "stop": { "rounds": 12 },
            "scheduling": { "kind": "synchronous", "report_goal": 10, "over_selection_factor": 1.0 },
        }));
        run(description, settings.clone(), 2).await.last_metric().expect("versions are measured")
    };
    let plain = accuracy(json!({ "kind": "fed_avg" })).await;
    let scaffold = accuracy(json!({ "kind": "scaffold", "clients": 10 })).await;
    let fed_dyn = accuracy(json!({ "kind": "fed_dyn", "clients": 10, "alpha": 0.1 })).await;
    assert!(scaffold > plain + 0.02 && fed_dyn > plain + 0.02, "{plain}, {scaffold}, {fed_dyn}");
    let fed_dc = accuracy(json!({ "kind": "fed_dc", "clients": 10, "alpha": 0.1 })).await;
    assert!(fed_dc > plain + 0.02, "{plain}, {fed_dc}");
}
