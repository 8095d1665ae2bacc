//! Elastic averaging through the coordinator, in a virtual world.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, ImportLimits, Model, Trainer};
use folkmoot_protocol::Work;
use folkmoot_simulation::simulate::{Crowd, WorldSettings};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::digits,
    simulate::{MODEL, run, task, world},
};

const ALPHA: f64 = 0.25;
const ROUNDS: u64 = 3;

/// Returns a plan of full batches, so that the order of the examples has no effect.
fn plan(alpha: Option<f64>) -> Value {
    json!({
        "loss": "softmax_cross_entropy",
        "optimizer": { "sgd": { "learning_rate": 0.2 } },
        "epochs": 3,
        "batch_size": 10_000,
        "elastic_averaging": alpha.map(|alpha| json!({ "alpha": alpha })),
    })
}

fn description(alpha: Option<f64>, server_learning_rate: f64) -> TaskDescription {
    task(&json!({
        "plan": plan(alpha),
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "finalizer": { "kind": "fed_avg", "server_learning_rate": server_learning_rate },
        "stop": { "rounds": ROUNDS },
    }))
}

/// Algorithm 1 of Zhang et al. 2015 with a communication period of a training: every worker trains its own x, and then both x and
/// the centre move by α(x − centre) toward each other; the centre by the sum over the workers.
fn easgd(clients: &[Examples]) -> Vec<f64> {
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model");
    let plan: folkmoot_engine::TrainingPlan = serde_json::from_value(plan(None)).expect("it is a plan");
    let mut centre: Vec<f64> = model.initial_weights().into_iter().map(f64::from).collect();
    let mut own = vec![model.initial_weights(); clients.len()];
    for _ in 0..ROUNDS {
        let mut sum = vec![0.0; centre.len()];
        for (examples, own) in clients.iter().zip(&mut own) {
            let mut trainer = Trainer::new(&model, own, plan.clone(), examples, 1).expect("the examples fit");
            while !trainer.step().expect("it does not diverge").finished {}
            let trained = trainer.finish().weights;
            for index in 0..centre.len() {
                let force = ALPHA * (f64::from(trained[index]) - centre[index]);
                own[index] = (f64::from(trained[index]) - force) as f32;
                sum[index] += force;
            }
        }
        centre.iter_mut().zip(sum).for_each(|(value, sum)| *value += sum);
    }
    centre
}

#[tokio::test]
async fn the_version_is_the_centre_of_easgd_to_the_last_digit_of_the_grid() {
    let settings: WorldSettings =
        world(&json!({ "clients": 2, "partition": { "kind": "shards", "shards_per_client": 3 } }));
    let crowd = Crowd::deal(&settings, digits(), false).expect("the digits can be divided");
    let clients = [0, 1].map(|client| crowd.examples(client, Work::Training).expect("it has examples"));
    let expected = easgd(&clients);
    // The sum over the two workers is twice their mean.
    let outcome = run(description(Some(ALPHA), 2.0), settings.clone(), 2).await;
    assert_eq!(outcome.version, ROUNDS);
    let off = outcome.weights.iter().zip(&expected).map(|(one, other)| (f64::from(*one) - other).abs());
    let off = off.fold(0.0, f64::max);
    assert!(off < 1e-5, "off by {off}");
    // A client that forgot its replica would start from the centre, as in federated averaging with a smaller rate.
    let forgetful = run(description(None, 2.0 * ALPHA), settings, 2).await.weights;
    let apart = forgetful.iter().zip(&expected).map(|(one, other)| (f64::from(*one) - other).abs());
    assert!(apart.fold(0.0, f64::max) > 0.01);
}
