//! Personal tensors through the coordinator, in a virtual world.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, ImportLimits, Model, TrainedPart, Trainer, evaluate};
use folkmoot_protocol::Work;
use folkmoot_simulation::simulate::{Crowd, Simulation, WorldSettings, simulate};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::digits,
    simulate::{MODEL, run, task, world},
};

/// Returns a plan of full batches, so that the order of the examples has no effect.
fn plan(personal: &[&str]) -> Value {
    json!({
        "loss": "softmax_cross_entropy",
        "optimizer": { "sgd": { "learning_rate": 0.2 } },
        "epochs": 3,
        "batch_size": 10_000,
        "personal": personal,
    })
}

fn description(personal: &[&str], rounds: u64) -> TaskDescription {
    task(&json!({
        "plan": plan(personal),
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "weighted_mean" },
        "stop": { "rounds": rounds },
    }))
}

/// FedPer as Arivazhagan et al. 2019 write it, algorithms 1 and 2, over these clients: the shared layers are averaged by
/// the number of examples, and each client continues with its own others. Returns the shared layers, and the share of correct
/// predictions of all clients on their own held-out examples, each with its own layers.
fn fed_per(personal: &[&str], rounds: u64, clients: &[[Examples; 2]]) -> (Vec<f32>, f64) {
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    let plan: folkmoot_engine::TrainingPlan = serde_json::from_value(plan(personal)).expect("it is a plan");
    let part = TrainedPart::of(&model, &plan).expect("the patterns match");
    let start = model.initial_weights();
    let mut shared: Vec<f64> = part.pick(&start).expect("it is whole").into_iter().map(f64::from).collect();
    let own = part.pick_personal(&start).expect("it is whole");
    let mut own: Vec<Vec<f32>> = vec![own; clients.len()];
    let whole = |shared: &[f64], own: &[f32]| {
        let mut whole = part.fill(shared.iter().map(|value| *value as f32).collect()).expect("as many");
        part.put_personal(own, &mut whole).expect("as many");
        whole
    };
    for _ in 0..rounds {
        let total: f64 = clients.iter().map(|[training, _]| training.len() as f64).sum();
        let mut next = vec![0.0; shared.len()];
        for ([training, _], own) in clients.iter().zip(&mut own) {
            let start = whole(&shared, own);
            let mut trainer =
                Trainer::new(&model, &start, plan.clone(), training, 1).expect("the examples fit");
            while !trainer.step().expect("it does not diverge").finished {}
            let weights = trainer.finish().weights;
            *own = part.pick_personal(&weights).expect("it is whole");
            let weight = training.len() as f64 / total;
            for (sum, value) in next.iter_mut().zip(part.pick(&weights).expect("it is whole")) {
                *sum += weight * f64::from(value);
            }
        }
        shared = next;
    }
    let (mut correct, mut count) = (0, 0);
    for ([_, held_out], own) in clients.iter().zip(&own) {
        let metrics = evaluate(&model, &whole(&shared, own), held_out, plan.loss).expect("the examples fit");
        correct += metrics.correct_count;
        count += metrics.example_count;
    }
    (shared.iter().map(|value| *value as f32).collect(), correct as f64 / count as f64)
}

#[tokio::test]
async fn personal_layers_are_fed_per_to_the_last_digit_of_the_grid() {
    let settings: WorldSettings =
        world(&json!({ "clients": 2, "partition": { "kind": "shards", "shards_per_client": 3 } }));
    let crowd = Crowd::deal(&settings, digits(), true).expect("the digits can be divided");
    let of = |client, work| crowd.examples(client, work).expect("the client has examples");
    let clients = [0, 1].map(|client| [of(client, Work::Training), of(client, Work::Evaluation)]);
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    for personal in ["layer_2.*", "layer_1.*"] {
        let description = description(&[personal], 3);
        let part = TrainedPart::of(&model, &description.plan).expect("the pattern matches");
        let (shared, accuracy) = fed_per(&[personal], 3, &clients);
        let outcome = run(description, settings.clone(), 2).await;
        assert_eq!(outcome.version, 3);
        let found = part.pick(&outcome.weights).expect("it is whole");
        let start = part.pick(&model.initial_weights()).expect("it is whole");
        let largest = |pairs: &mut dyn Iterator<Item = (f32, f32)>| {
            pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
        };
        let off = largest(&mut found.iter().copied().zip(shared));
        let moved = largest(&mut found.iter().copied().zip(start));
        // The coordinator's grid has 24 bits behind the point, and full batches are summed in another order.
        assert!(off < 1e-5 && moved > 0.01, "{personal}: off by {off}, moved by {moved}");
        let own = part.pick_personal(&outcome.weights).expect("it is whole");
        assert_eq!(Ok(own), part.pick_personal(&model.initial_weights()), "no personal value was sent");
        let measured = outcome.last_metric().expect("the clients measured");
        assert!((measured - accuracy).abs() < 1e-9, "{personal}: {measured} and {accuracy}");
    }
}

/// On clients with two classes each, the head that each trains for itself knows which two.
#[tokio::test]
async fn personal_heads_help_clients_that_differ() {
    let settings = world(&json!({
        "clients": 20, "partition": { "kind": "shards", "shards_per_client": 2 }, "held_out_of_clients": true,
    }));
    let accuracy = async |personal: &[&str]| {
        let plan = json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 2, "batch_size": 16, "personal": personal,
        });
        let scheduling = json!({ "kind": "synchronous", "report_goal": 8 });
        let description = task(&json!({ "plan": plan, "scheduling": scheduling, "stop": { "rounds": 15 } }));
        run(description, settings.clone(), 2).await.last_metric().expect("the clients measured")
    };
    let (shared, own) = (accuracy(&[]).await, accuracy(&["layer_2.*"]).await);
    assert!(own > shared + 0.05, "{own} with personal heads, {shared} without");
}

#[tokio::test]
async fn tasks_that_make_no_sense_with_personal_tensors_are_refused() {
    let refused = async |personal: &[&str], changes: Value| {
        let mut description = serde_json::to_value(description(personal, 1)).expect("it is JSON");
        for (key, value) in changes.as_object().expect("changes are an object") {
            description[key] = value.clone();
        }
        let simulation = Simulation {
            description: serde_json::from_value(description).expect("it is a description"),
            onnx: MODEL.into(),
            settings: world(&json!({ "clients": 2 })),
            source: digits(),
            trace: None,
            threads: 1,
            kept: None,
            evaluate_every: 1,
            sabotage: None,
            functions: None,
        };
        let simulated = Box::pin(simulate(simulation, &mut folkmoot_simulation::simulate::Silent)).await;
        simulated.expect_err("it makes no sense").to_string()
    };
    let text = refused(&["heads.*"], json!({})).await;
    assert!(text.contains("plan.personal") && text.contains("heads.*"), "{text}");
    let text = refused(&["*"], json!({})).await;
    assert!(text.contains("plan.personal") && text.contains("no tensor is trained and shared"), "{text}");
    let central = json!({ "evaluation": { "central": true } });
    let text = refused(&["layer_2.*"], central).await;
    assert!(text.contains("evaluation.central") && text.contains("plan.personal"), "{text}");
}
