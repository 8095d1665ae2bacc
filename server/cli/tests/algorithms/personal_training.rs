//! FedRep, Ditto, pFedMe and APFL through the coordinator, in a virtual world.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, ImportLimits, Model, TrainedPart, evaluate};
use folkmoot_protocol::{PersonalTraining, Work};
use folkmoot_simulation::simulate::{Crowd, WorldSettings};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::{Objective, digits, plan},
    simulate::{MODEL, run, task, world},
};

const RATE: f64 = 0.1;
/// The numbers of local steps: for the personal training, and then for the shared weights.
const STEPS: [usize; 2] = [4, 3];
const ROUNDS: usize = 3;
const LAMBDA: f64 = 0.5;
/// The step of pFedMe's local model toward the client's own.
const OUTER_RATE: f64 = 0.75;
/// The share of APFL's own model.
const ALPHA: f64 = 0.5;

fn description(personal: &[&str], personal_training: Value) -> TaskDescription {
    let mut plan = plan(RATE, STEPS[1]);
    plan["steps_max"] = Value::Null;
    plan["personal"] = json!(personal);
    plan["personal_training"] = personal_training;
    task(&json!({
        "plan": plan,
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "stop": { "rounds": ROUNDS },
    }))
}

/// A client with its objective, its held-out examples, and the weights with which it predicts.
struct Client<'a> {
    objective: Objective<'a>,
    held_out: &'a Examples,
    own: Vec<f64>,
}

/// FedRep as Collins et al. 2021 write it, algorithm 1: each client takes steps of its head, which is 1 in `head`, and then of the
/// body. Returns the body; the others keep their starting values.
fn fed_rep(clients: &mut [Client<'_>], start: &[f64], head: &[f32]) -> Vec<f64> {
    let mut shared = start.to_vec();
    for _ in 0..ROUNDS {
        let mut mean = vec![0.0; start.len()];
        let count = clients.len() as f64;
        for Client { objective, own, .. } in clients.iter_mut() {
            let mut weights = shared.clone();
            for (index, weight) in weights.iter_mut().enumerate().filter(|(index, _)| head[*index] == 1.0) {
                *weight = own[index];
            }
            for (steps, moving) in STEPS.into_iter().zip([1.0, 0.0]) {
                for _ in 0..steps {
                    let gradient = objective.gradient(&weights);
                    for index in (0..weights.len()).filter(|index| head[*index] == moving) {
                        weights[index] -= RATE * gradient[index];
                    }
                }
            }
            mean.iter_mut().zip(&weights).for_each(|(mean, weight)| *mean += weight / count);
            *own = weights;
        }
        shared = mean;
        // Each client predicts with its own head and the new body.
        for Client { own, .. } in clients.iter_mut() {
            for index in (0..shared.len()).filter(|index| head[*index] == 0.0) {
                own[index] = shared[index];
            }
        }
    }
    (0..shared.len()).map(|index| if head[index] == 1.0 { start[index] } else { shared[index] }).collect()
}

/// Ditto as Li et al. 2021 write it, algorithm 1, with FedAvg for the shared model. Returns the shared model.
fn ditto(clients: &mut [Client<'_>], start: &[f64]) -> Vec<f64> {
    let mut shared = start.to_vec();
    for _ in 0..ROUNDS {
        let mut mean = vec![0.0; start.len()];
        let count = clients.len() as f64;
        for Client { objective, own, .. } in clients.iter_mut() {
            for _ in 0..STEPS[0] {
                objective.step(own, RATE, |own, index| LAMBDA * (own[index] - shared[index]));
            }
            let mut local = shared.clone();
            for _ in 0..STEPS[1] {
                objective.step(&mut local, RATE, |_, _| 0.0);
            }
            mean.iter_mut().zip(&local).for_each(|(mean, local)| *mean += local / count);
        }
        shared = mean;
    }
    shared
}

/// pFedMe as T Dinh et al. 2020 write it, algorithm 1 with β = 1, where the subproblem is solved by some steps of gradient descent.
/// Returns the shared model.
fn p_fed_me(clients: &mut [Client<'_>], start: &[f64]) -> Vec<f64> {
    let mut shared = start.to_vec();
    for _ in 0..ROUNDS {
        let mut mean = vec![0.0; start.len()];
        let count = clients.len() as f64;
        for Client { objective, own, .. } in clients.iter_mut() {
            let mut local = shared.clone();
            own.clone_from(&shared);
            for _ in 0..STEPS[1] {
                for _ in 0..STEPS[0] {
                    objective.step(own, RATE, |own, index| LAMBDA * (own[index] - local[index]));
                }
                for (local, own) in local.iter_mut().zip(&*own) {
                    *local -= OUTER_RATE * LAMBDA * (*local - own);
                }
            }
            mean.iter_mut().zip(&local).for_each(|(mean, local)| *mean += local / count);
        }
        shared = mean;
    }
    shared
}

/// APFL as Deng et al. 2020 write it, algorithm 1, with the shares of equation 11 in the first step of a round if they adapt. Each
/// client predicts with the mixture of its own model and the newest version. Returns the shared model, and the shares.
fn apfl(clients: &mut [Client<'_>], start: &[f64], is_adaptive: bool) -> (Vec<f64>, Vec<f64>) {
    let mut shared = start.to_vec();
    let mut own = vec![start.to_vec(); clients.len()];
    let mut alphas = vec![ALPHA; clients.len()];
    let mix = |own: &[f64], shared: &[f64], alpha: f64| -> Vec<f64> {
        own.iter().zip(shared).map(|(own, shared)| alpha * own + (1.0 - alpha) * shared).collect()
    };
    for _ in 0..ROUNDS {
        let mut mean = vec![0.0; start.len()];
        for (Client { objective, .. }, (own, alpha)) in
            clients.iter_mut().zip(own.iter_mut().zip(&mut alphas))
        {
            let mut local = shared.clone();
            for step in 0..STEPS[1] {
                let gradient = objective.gradient(&mix(own, &local, *alpha));
                let apart = own.iter().zip(&local).map(|(own, local)| own - local);
                let slope: f64 = gradient.iter().zip(apart).map(|(gradient, apart)| gradient * apart).sum();
                own.iter_mut().zip(&gradient).for_each(|(own, gradient)| *own -= RATE * *alpha * gradient);
                if is_adaptive && step == 0 {
                    *alpha = (*alpha - RATE * slope).clamp(0.0, 1.0);
                }
                objective.step(&mut local, RATE, |_, _| 0.0);
            }
            mean.iter_mut().zip(&local).for_each(|(mean, local)| *mean += local / STEPS.len() as f64);
        }
        shared = mean;
    }
    for (client, (own, alpha)) in clients.iter_mut().zip(own.iter().zip(&alphas)) {
        client.own = mix(own, &shared, *alpha);
    }
    (shared, alphas)
}

/// Returns the share of correct predictions of all clients on their own held-out examples.
fn accuracy(clients: &[Client<'_>], task: &TaskDescription) -> f64 {
    let (mut correct, mut count) = (0, 0);
    for Client { objective, held_out, own } in clients {
        let own: Vec<f32> = own.iter().map(|weight| *weight as f32).collect();
        let metrics = evaluate(objective.model, &own, held_out, task.plan.loss).expect("the examples fit");
        correct += metrics.correct_count;
        count += metrics.example_count;
    }
    correct as f64 / count as f64
}

#[tokio::test]
async fn personal_trainings_are_the_papers_through_the_coordinator() {
    let settings: WorldSettings = world(&json!({
        "clients": 2, "partition": { "kind": "shards", "shards_per_client": 3 }, "held_out_of_clients": true,
    }));
    let crowd = Crowd::deal(&settings, digits(), true).expect("the digits can be divided");
    let of = |work| [0, 1].map(|client| crowd.examples(client, work).expect("it has examples"));
    let (training, held_out) = (of(Work::Training), of(Work::Evaluation));
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    let start: Vec<f64> = model.initial_weights().into_iter().map(f64::from).collect();
    let fed_avg = run(description(&[], Value::Null), settings.clone(), 2).await.weights;
    let of_ditto = json!({ "ditto": { "lambda": LAMBDA, "epochs": STEPS[0] } });
    let of_p_fed_me = json!({ "lambda": LAMBDA, "learning_rate": OUTER_RATE, "steps": STEPS[0] });
    let of_apfl = |is_adaptive: bool| json!({ "apfl": { "alpha": ALPHA, "adaptive": is_adaptive } });
    let cases = [
        description(&["layer_2.*"], json!({ "fed_rep": { "epochs": STEPS[0] } })),
        description(&[], of_ditto),
        description(&[], json!({ "p_fed_me": of_p_fed_me })),
        description(&[], of_apfl(false)),
        description(&[], of_apfl(true)),
    ];
    for task in cases {
        let clients = training.iter().zip(&held_out).map(|(examples, held_out)| {
            let objective = Objective { model: &model, examples };
            Client { objective, held_out, own: start.clone() }
        });
        let mut clients: Vec<_> = clients.collect();
        let part = TrainedPart::of(&model, &task.plan).expect("the pattern matches");
        let body = part.spread(&vec![1.0; part.parameter_count()]).expect("as many");
        let head: Vec<f32> = body.into_iter().map(|of_body| 1.0 - of_body).collect();
        let kind = task.plan.personal_training.expect("each case has one");
        let expected = match kind {
            PersonalTraining::FedRep { .. } => fed_rep(&mut clients, &start, &head),
            PersonalTraining::Ditto { .. } => ditto(&mut clients, &start),
            PersonalTraining::PFedMe { .. } => p_fed_me(&mut clients, &start),
            PersonalTraining::Apfl { adaptive, .. } => {
                let (shared, alphas) = apfl(&mut clients, &start, adaptive);
                let moved = alphas.iter().map(|alpha| (alpha - ALPHA).abs()).fold(0.0, f64::max);
                assert_eq!(moved > 0.001, adaptive, "{alphas:?}");
                shared
            }
        };
        let accuracy = accuracy(&clients, &task);
        let outcome = run(task, settings.clone(), 2).await;
        let pairs = outcome.weights.iter().copied().map(f64::from).zip(&expected);
        let off = pairs.map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
        let apart = outcome.weights.iter().zip(&fed_avg).map(|(one, other)| (one - other).abs());
        let apart = apart.fold(0.0, f32::max);
        assert!(off < 1e-5, "{kind:?}: off by {off}");
        // The shared models of Ditto and APFL equal FedAvg's.
        let is_fed_avg = matches!(kind, PersonalTraining::Ditto { .. } | PersonalTraining::Apfl { .. });
        assert_eq!(apart > 0.01, !is_fed_avg, "{kind:?}: {apart} from FedAvg");
        let measured = outcome.last_metric().expect("the clients measured");
        assert!((measured - accuracy).abs() < 1e-9, "{kind:?}: {measured} and {accuracy}");
    }
}

/// On clients with two classes each, a model of its own is better than the shared one.
#[tokio::test]
async fn models_of_their_own_help_clients_that_differ() {
    let settings = world(&json!({
        "clients": 20, "partition": { "kind": "shards", "shards_per_client": 2 }, "held_out_of_clients": true,
    }));
    let accuracy = async |personal_training: Value| {
        let plan = json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 2, "batch_size": 16, "personal_training": personal_training,
        });
        let scheduling = json!({ "kind": "synchronous", "report_goal": 8 });
        let task = task(&json!({ "plan": plan, "scheduling": scheduling, "stop": { "rounds": 15 } }));
        run(task, settings.clone(), 2).await.last_metric().expect("the clients measured")
    };
    let shared = accuracy(Value::Null).await;
    for one in [
        json!({ "ditto": { "lambda": 0.1, "epochs": 2 } }),
        json!({ "apfl": { "alpha": 0.5, "adaptive": true } }),
    ] {
        let own = accuracy(one.clone()).await;
        assert!(own > shared + 0.05, "{one}: {own} with their own models, {shared} without");
    }
}
