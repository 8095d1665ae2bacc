//! SCAFFOLD and FedDyn through the coordinator, in a virtual world.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_data::{ReadOptions, read};
use folkmoot_engine::{Examples, ImportLimits, Model, Trainer, TrainingPlan};
use folkmoot_protocol::Work;
use folkmoot_simulation::simulate::{Crowd, DataSource, WorldSettings};
use serde_json::{Value, json};

use crate::simulate::{MODEL, run, task, world};

/// The local learning rate.
const RATE: f64 = 0.05;
/// The number of local steps.
const STEPS: usize = 3;
/// The number of clients that the task counts with. Two of them take part, so half of them.
const CLIENTS: u64 = 4;

fn digits() -> DataSource {
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/digits.csv");
    let training = read(digits.as_ref(), &ReadOptions::default()).expect("the digits are there");
    DataSource::Given { training, held_out: None }
}

/// Returns a plan of full batches, so that the order of the examples has no effect.
fn plan(rate: f64, steps: usize) -> Value {
    json!({
        "loss": "softmax_cross_entropy",
        "optimizer": { "sgd": { "learning_rate": rate } },
        "epochs": steps,
        "steps_max": steps,
        "batch_size": 10_000,
    })
}

fn description(finalizer: Value, rounds: u64) -> TaskDescription {
    task(&json!({
        "plan": plan(RATE, STEPS),
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "finalizer": finalizer,
        "stop": { "rounds": rounds },
    }))
}

/// The loss of a client's examples as a function of all weights.
struct Objective<'a> {
    model: &'a Model,
    examples: &'a Examples,
}

impl Objective<'_> {
    /// Returns the gradient: the negative change in one step of rate 1.
    fn gradient(&self, weights: &[f64]) -> Vec<f64> {
        let start: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
        let plan: TrainingPlan = serde_json::from_value(plan(1.0, 1)).expect("it is a plan");
        let mut trainer = Trainer::new(self.model, &start, plan, self.examples, 1).expect("the examples fit");
        trainer.step().expect("it does not diverge");
        trainer.finish().delta.iter().map(|change| -f64::from(*change)).collect()
    }

    /// Returns the weights after the local steps, each against the gradient plus `extra` of the weights.
    fn train(&self, start: &[f64], extra: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
        let mut weights = start.to_vec();
        for _ in 0..STEPS {
            let gradient = self.gradient(&weights);
            let extras: Vec<f64> = (0..weights.len()).map(|index| extra(&weights, index)).collect();
            for ((weight, gradient), extra) in weights.iter_mut().zip(gradient).zip(extras) {
                *weight -= RATE * (gradient + extra);
            }
        }
        weights
    }
}

/// SCAFFOLD as Karimireddy et al. 2020 write it, algorithm 1 with option II and the server's rate 1. Returns the model.
fn scaffold(clients: &[Objective<'_>], start: &[f64], rounds: u64) -> Vec<f64> {
    let (mut model, mut shared) = (start.to_vec(), vec![0.0; start.len()]);
    let mut own = vec![vec![0.0; start.len()]; clients.len()];
    let scale = 1.0 / (STEPS as f64 * RATE);
    for _ in 0..rounds {
        let (mut next, mut control) = (model.clone(), shared.clone());
        for (client, own) in clients.iter().zip(&mut own) {
            let local = client.train(&model, |_, index| shared[index] - own[index]);
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
            let local = client
                .train(&model, |weights, index| alpha * (weights[index] - model[index]) - gradient[index]);
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
}
