//! Rules that use the coordinator's own examples or know its clients, in a virtual world, against the same rules as their papers write them.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, ImportLimits, Labels, Loss, Model, evaluate};
use folkmoot_protocol::Work;
use folkmoot_rounds::registry::OwnDivided;
use folkmoot_simulation::simulate::{Crowd, WorldSettings};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::{Objective, digits, plan},
    simulate::{MODEL, bits, grid, run, simulated, task, world},
};

/// The local learning rate.
const RATE: f64 = 0.1;
/// The number of local steps.
const STEPS: usize = 3;
const CLIENTS: usize = 3;
const ROUNDS: u64 = 3;

fn description(aggregator: &Value) -> TaskDescription {
    task(&json!({
        "plan": plan(RATE, STEPS),
        "scheduling": { "kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0 },
        "aggregator": aggregator,
        "stop": { "rounds": ROUNDS },
    }))
}

/// Each client has three classes of ten, so that their updates point in different directions.
fn settings(changes: &Value) -> WorldSettings {
    let mut all = json!({ "clients": CLIENTS, "partition": { "kind": "shards", "shards_per_client": 3 } });
    for (key, value) in changes.as_object().expect("changes are an object") {
        all[key] = value.clone();
    }
    world(&all)
}

/// The model, the examples of the clients, and the examples of the coordinator.
struct Scene {
    model: Model,
    clients: Vec<Examples>,
    guiding: Examples,
}

impl Scene {
    fn of(description: &TaskDescription) -> Self {
        let crowd = Crowd::deal(&settings(&json!({})), digits(), false).expect("the digits can be divided");
        let examples = |client| crowd.examples(client, Work::Training).expect("it has examples");
        let clients = (0..CLIENTS).map(examples).collect();
        let held_out = crowd.held_out.clone().expect("a share of the digits is held out");
        let guiding = OwnDivided::of(description, held_out).expect("the examples are whole").guiding;
        let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
        Self { model, clients, guiding }
    }

    fn start(&self) -> Vec<f64> {
        self.model.initial_weights().into_iter().map(f64::from).collect()
    }

    /// Returns the change by local training.
    fn update(&self, examples: &Examples, start: &[f64]) -> Vec<f64> {
        let objective = Objective { model: &self.model, examples };
        let mut weights = start.to_vec();
        for _ in 0..STEPS {
            objective.step(&mut weights, RATE, |_, _| 0.0);
        }
        weights.iter().zip(start).map(|(after, before)| after - before).collect()
    }

    fn updates(&self, start: &[f64]) -> Vec<Vec<f64>> {
        self.clients.iter().map(|examples| self.update(examples, start)).collect()
    }

    /// FLTrust as Cao et al. 2021 write it, algorithm 2 with β = 1 and α = 1.
    fn fl_trust(&self) -> Vec<f64> {
        let mut model = self.start();
        for _ in 0..ROUNDS {
            let root = self.update(&self.guiding, &model);
            let updates = self.updates(&model);
            let trusts: Vec<f64> = updates
                .iter()
                .map(|update| (dot(update, &root) / (norm(update) * norm(&root))).max(0.0))
                .collect();
            let total: f64 = trusts.iter().sum();
            for (trust, update) in trusts.iter().zip(&updates) {
                let factor = trust / total * norm(&root) / norm(update);
                model.iter_mut().zip(update).for_each(|(weight, change)| *weight += factor * change);
            }
        }
        model
    }

    /// FedLAW as Li et al. 2023 write it: γ and λ minimise the loss of γ·Σ λᵢ·wᵢ, here by plain gradient descent with γ = eᵍ and λ = softmax(x).
    fn fed_law(&self, steps: usize, rate: f64) -> Vec<f64> {
        let proxy = Objective { model: &self.model, examples: &self.guiding };
        let mut model = self.start();
        for _ in 0..ROUNDS {
            let clients: Vec<Vec<f64>> = self
                .updates(&model)
                .into_iter()
                .map(|update| update.iter().zip(&model).map(|(change, weight)| weight + change).collect())
                .collect();
            let mut logits: Vec<f64> =
                self.clients.iter().map(|examples| (examples.len() as f64).ln()).collect();
            let mut log_scale = 0.0f64;
            let mixed = |logits: &[f64], log_scale: f64| {
                let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
                let shares: Vec<f64> = logits.iter().map(|logit| logit.exp() / total).collect();
                let mean: Vec<f64> = (0..model.len())
                    .map(|index| {
                        shares.iter().zip(&clients).map(|(share, client)| share * client[index]).sum()
                    })
                    .collect();
                let mixture: Vec<f64> = mean.iter().map(|weight| log_scale.exp() * weight).collect();
                (shares, mixture)
            };
            for _ in 0..steps {
                let (shares, mixture) = mixed(&logits, log_scale);
                let gradient = proxy.gradient(&mixture);
                // ∂w/∂g = w, and ∂w/∂xⱼ = γ·λⱼ·(wⱼ − Σ λᵢ·wᵢ).
                let along = dot(&gradient, &mixture);
                for ((logit, share), client) in logits.iter_mut().zip(&shares).zip(&clients) {
                    *logit -= rate * share * (log_scale.exp() * dot(&gradient, client) - along);
                }
                log_scale -= rate * along;
            }
            model = mixed(&logits, log_scale).1;
        }
        model
    }

    /// FedDF as Lin et al. 2020 write it, algorithm 1, with Adam and full batches.
    fn fed_df(&self, steps: usize, rate: f64) -> Vec<f64> {
        let mut model = self.start();
        for _ in 0..ROUNDS {
            let updates = self.updates(&model);
            let teachers = updates.iter().map(|update| {
                let weights: Vec<f32> =
                    update.iter().zip(&model).map(|(change, weight)| (weight + change) as f32).collect();
                let (features, rows) = (self.guiding.features(), self.guiding.len());
                self.model.predict(&weights, features, rows).expect("the examples fit")
            });
            let teachers: Vec<Vec<f32>> = teachers.collect();
            let mean = |index: usize| {
                teachers.iter().map(|logits| f64::from(logits[index])).sum::<f64>() / teachers.len() as f64
            };
            let logits: Vec<f64> = (0..teachers[0].len()).map(mean).collect();
            let targets = logits.chunks(10).flat_map(|row| {
                let total: f64 = row.iter().map(|logit| logit.exp()).sum();
                row.iter().map(move |logit| (logit.exp() / total) as f32)
            });
            let labels = Labels::Targets(targets.collect(), 10);
            let shape = self.guiding.feature_shape().to_vec();
            let taught =
                Examples::new(self.guiding.features().to_vec(), shape, labels).expect("they are whole");
            let counts: Vec<f64> = self.clients.iter().map(|examples| examples.len() as f64).collect();
            for (count, update) in counts.iter().zip(&updates) {
                let share = count / counts.iter().sum::<f64>();
                model.iter_mut().zip(update).for_each(|(weight, change)| *weight += share * change);
            }
            self.distil(&taught, &mut model, steps, rate);
        }
        model
    }

    /// Adam (Kingma and Ba 2015, algorithm 1) with a cosine that falls to 0. A cross-entropy with distributions has the gradient of the
    /// Kullback-Leibler divergence.
    fn distil(&self, taught: &Examples, model: &mut [f64], steps: usize, rate: f64) {
        let objective = Objective { model: &self.model, examples: taught };
        let (mut first, mut second) = (vec![0.0; model.len()], vec![0.0; model.len()]);
        for step in 0..steps {
            let gradient = objective.gradient(model);
            let rate = rate * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos()) / 2.0;
            let power = step as i32 + 1;
            for index in 0..model.len() {
                first[index] = 0.9 * first[index] + 0.1 * gradient[index];
                second[index] = 0.999 * second[index] + 0.001 * gradient[index].powi(2);
                let (m, v) =
                    (first[index] / (1.0 - 0.9f64.powi(power)), second[index] / (1.0 - 0.999f64.powi(power)));
                model[index] -= rate * m / (v.sqrt() + 1e-8);
            }
        }
    }
}

impl Scene {
    /// AFL as Mohri et al. 2019 write it, algorithm 1, with several local steps. Returns the model.
    fn afl(&self, rate: f64) -> Vec<f64> {
        let (mut model, mut mixture) = (self.start(), vec![1.0 / CLIENTS as f64; CLIENTS]);
        for _ in 0..ROUNDS {
            let updates = self.updates(&model);
            let losses: Vec<f64> = self.clients.iter().map(|examples| self.loss(examples, &model)).collect();
            for (weight, update) in mixture.iter().zip(&updates) {
                model.iter_mut().zip(update).for_each(|(value, change)| *value += weight * change);
            }
            let raised: Vec<f64> =
                mixture.iter().zip(&losses).map(|(weight, loss)| weight + rate * loss).collect();
            // By bisection, unlike the coordinator: the sum of max(w − θ, 0) falls with θ.
            let (mut low, mut high) = (-10.0, 10.0);
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                let sum: f64 = raised.iter().map(|weight| f64::max(weight - middle, 0.0)).sum();
                if sum > 1.0 { low = middle } else { high = middle }
            }
            mixture = raised.iter().map(|weight| f64::max(weight - low, 0.0)).collect();
        }
        model
    }

    /// Returns the mean loss of the local training, each measured before its step.
    fn loss(&self, examples: &Examples, start: &[f64]) -> f64 {
        let objective = Objective { model: &self.model, examples };
        let (mut weights, mut sum) = (start.to_vec(), 0.0);
        for _ in 0..STEPS {
            let whole: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
            let measured = evaluate(&self.model, &whole, examples, Loss::SoftmaxCrossEntropy);
            let measured = measured.expect("the examples fit");
            sum += measured.loss_sum / measured.example_count as f64 / STEPS as f64;
            objective.step(&mut weights, RATE, |_, _| 0.0);
        }
        sum
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// Returns the largest difference of the weights to the expected ones, its norm, and the norm of the difference to other weights.
fn differences(found: &[f32], expected: &[f64], plain: &[f32]) -> (f64, f64, f64) {
    let off = found.iter().zip(expected).map(|(one, other)| f64::from(*one) - other);
    let moved = found.iter().zip(plain).map(|(one, other)| f64::from(one - other));
    let (off, moved): (Vec<f64>, Vec<f64>) = (off.collect(), moved.collect());
    (off.iter().fold(0.0, |most, value| value.abs().max(most)), norm(&off), norm(&moved))
}

/// Compares a rule with its paper, in a world where all is well and in one where the coordinator crashes and messages are lost.
/// Adam magnifies the rounding of tiny gradients, so a rule with it `is_rough` and must be near as a whole.
async fn expect_the_papers(aggregator: &Value, is_rough: bool, expected: impl Fn(&Scene) -> Vec<f64>) {
    let description = description(aggregator);
    let expected = expected(&Scene::of(&description));
    let plain = run(self::description(&json!({ "kind": "weighted_mean" })), settings(&json!({})), 2).await;
    let faults = json!({
        "request_loss": 0.05, "answer_loss": 0.05,
        "coordinator_crash_seconds": 1.0, "coordinator_restart_seconds": 1.0,
    });
    for faults in [json!({}), faults] {
        let found = run(description.clone(), settings(&json!({ "faults": faults })), 2).await;
        let (most, off, moved) = differences(&found.weights, &expected, &plain.weights);
        let is_near = if is_rough { off < 0.01 * moved } else { most < 5e-6 };
        assert!(is_near && moved > 0.01, "{aggregator}: off by {off}, at most {most}, moved by {moved}");
        assert!((found.crashes > 0) == (faults != json!({})), "{} crashes", found.crashes);
    }
}

#[tokio::test]
async fn fl_trust_is_the_papers_through_the_coordinator() {
    expect_the_papers(&json!({ "kind": "fl_trust", "examples": 60 }), false, Scene::fl_trust).await;
}

#[tokio::test]
async fn fed_law_is_the_papers_through_the_coordinator() {
    let aggregator = json!({ "kind": "fed_law", "examples": 60, "steps": 5, "learning_rate": 0.05 });
    expect_the_papers(&aggregator, false, |scene| scene.fed_law(5, 0.05)).await;
}

#[tokio::test]
async fn fed_df_is_the_papers_through_the_coordinator() {
    let aggregator = json!({ "kind": "fed_df", "examples": 60, "steps": 4, "learning_rate": 0.01 });
    expect_the_papers(&aggregator, true, |scene| scene.fed_df(4, 0.01)).await;
}

/// The clients' limits of values and their proximal steps must not change the coordinator's gradients. No weight comes near this range,
/// but a step of the rate 1024 would leave it.
#[tokio::test]
async fn the_rules_of_the_clients_steps_do_not_reach_the_coordinator() {
    let with = async |aggregator: &Value, key: &str, value: Value| {
        let mut description = serde_json::to_value(description(aggregator)).expect("it is JSON");
        description["plan"][key] = value;
        let description = serde_json::from_value(description).expect("it is a description");
        let outcome = run(description, settings(&json!({})), 2).await;
        assert_eq!(outcome.version, ROUNDS, "{aggregator} {key}");
        bits(&outcome.weights)
    };
    let fed_law = json!({ "kind": "fed_law", "examples": 60, "steps": 5 });
    let fed_df = json!({ "kind": "fed_df", "examples": 60, "steps": 4 });
    let range = json!({ "min": -20.0, "max": 20.0, "tensors": ["*"] });
    for aggregator in [&fed_law, &fed_df] {
        let plain = with(aggregator, "frozen", json!([])).await;
        assert_eq!(with(aggregator, "value_range", range.clone()).await, plain, "{aggregator}");
    }
    with(&fed_df, "l1", json!({ "strength": 0.001, "tensors": ["*.weight"] })).await;
}

#[tokio::test]
async fn afl_is_the_papers_through_the_coordinator() {
    let aggregator = json!({ "kind": "afl", "clients": CLIENTS, "learning_rate": 0.3 });
    expect_the_papers(&aggregator, false, |scene| scene.afl(0.3)).await;
}

/// More than half of the clients are hostile, so that no rule that follows the majority can hold.
#[tokio::test]
async fn fl_trust_holds_against_a_majority() {
    let accuracy = async |aggregator: Value| {
        let adversary = json!({ "share": 0.6, "attack": { "kind": "sign_flip", "factor": 4.0 } });
        let scheduling = json!({ "kind": "synchronous", "report_goal": 30, "over_selection_factor": 1.0 });
        let changes = json!({ "aggregator": aggregator, "scheduling": scheduling, "grid": grid() });
        let settings = world(&json!({ "adversary": adversary }));
        run(task(&changes), settings, 2).await.last_metric().unwrap_or_default()
    };
    let median = accuracy(json!({ "kind": "median" })).await;
    let trust = accuracy(json!({ "kind": "fl_trust" })).await;
    assert!(median < 0.4 && trust > 0.75, "{median}, {trust}");
}

/// All clients send their updates turned around, so no update agrees with the coordinator's.
#[tokio::test]
async fn the_version_stays_if_nobody_is_trusted() {
    let adversary = json!({ "share": 1.0, "attack": { "kind": "sign_flip", "factor": 1.0 } });
    let settings = settings(&json!({ "adversary": adversary }));
    let outcome = run(description(&json!({ "kind": "fl_trust" })), settings, 2).await;
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    assert_eq!(outcome.version, ROUNDS);
    assert_eq!(bits(&outcome.weights), bits(&model.initial_weights()));
}

#[tokio::test]
async fn too_few_examples_are_refused_with_their_number() {
    let aggregator = json!({ "kind": "fl_trust", "examples": 50_000 });
    let refused = simulated(description(&aggregator), settings(&json!({}))).await;
    let text = refused.map(|_| ()).expect_err("there are fewer examples").to_string();
    assert!(text.contains("but the aggregator uses 50000, and central evaluation needs others"), "{text}");
}
