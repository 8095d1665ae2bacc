//! The contributions of clients to the versions of a coordinator, against the same values written again from their definition.

use std::process::{Command, Output};

use folkmoot_data::{Dataset, Groups};
use folkmoot_engine::{Examples, ImportLimits, Loss, Model, evaluate};
use folkmoot_protocol::Work;
use folkmoot_simulation::{
    contributions::{ClientContribution, Contributions},
    simulate::{Crowd, DataSource, Outcome, Silent, SimulateError, Simulation, WorldSettings, simulate},
};
use serde_json::{Value, json};

use crate::{
    algorithms::objective::{Objective, digits, plan},
    simulate::{MODEL, simulation, task, world},
};

const RATE: f64 = 0.5;
const ROUNDS: usize = 2;

fn model() -> Model {
    Model::from_onnx(MODEL, &ImportLimits::default()).expect("it is a model")
}

fn description(
    clients: usize,
    rounds: usize,
    changes: &Value,
) -> folkmoot_coordinator::task::TaskDescription {
    let mut all = json!({
        "plan": plan(RATE, 1),
        "scheduling": { "kind": "synchronous", "report_goal": clients, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "weighted_mean" },
        "evaluation": { "every_versions": 1, "metric": "loss", "central": true },
        "stop": { "rounds": rounds },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        all[key] = value.clone();
    }
    task(&all)
}

fn settings(clients: usize, changes: &Value) -> WorldSettings {
    let mut all = json!({
        "clients": clients,
        "partition": { "kind": "shards", "shards_per_client": 3 },
        "contributions": { "tolerance": 0.0 },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        all[key] = value.clone();
    }
    world(&all)
}

async fn ran(simulation: Simulation) -> Result<Outcome, SimulateError> {
    Box::pin(simulate(simulation, &mut Silent)).await
}

async fn contributions(simulation: Simulation) -> (Outcome, Contributions) {
    let mut outcome = ran(simulation).await.expect("the simulation runs");
    let found = outcome.contributions.take().expect("the world asks for them");
    (outcome, found)
}

fn of(found: &Contributions, client: usize) -> &ClientContribution {
    found.clients.iter().find(|one| one.client == client).expect("the client took part")
}

/// Three clients with two classes each, one step of gradient descent a round, and the mean weighted by their examples.
struct Scene {
    model: Model,
    clients: Vec<Examples>,
    held_out: Examples,
}

impl Scene {
    fn of(settings: &WorldSettings) -> Self {
        let crowd = Crowd::deal(settings, digits(), false).expect("the digits can be divided");
        let examples = |client| crowd.examples(client, Work::Training).expect("it has examples");
        let clients = (0..crowd.len()).map(examples).collect();
        Self { model: model(), clients, held_out: crowd.held_out.clone().expect("a share is held out") }
    }

    /// Returns the negative loss on the held-out examples.
    fn utility(&self, weights: &[f64]) -> f64 {
        let weights: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
        let metrics = evaluate(&self.model, &weights, &self.held_out, Loss::SoftmaxCrossEntropy);
        -metrics.expect("the examples fit").mean_loss().expect("there are examples")
    }

    /// Returns the base moved by the mean of the updates of some clients.
    fn moved(&self, base: &[f64], updates: &[Vec<f64>], members: &[usize]) -> Vec<f64> {
        let count = |client: &usize| self.clients[*client].len() as f64;
        let total: f64 = members.iter().map(count).sum();
        let mut moved = base.to_vec();
        for client in members {
            let share = count(client) / total;
            moved.iter_mut().zip(&updates[*client]).for_each(|(value, delta)| *value += share * delta);
        }
        moved
    }

    /// Adds the values of a round to the sums, from all orders of its three clients, and returns the next version.
    fn round(&self, base: &[f64], shapley: &mut [f64], leave_one_out: &mut [f64]) -> Vec<f64> {
        let update = |examples: &Examples| -> Vec<f64> {
            let gradient = Objective { model: &self.model, examples }.gradient(base);
            gradient.into_iter().map(|slope| -RATE * slope).collect()
        };
        let updates: Vec<Vec<f64>> = self.clients.iter().map(update).collect();
        let utility = |members: &[usize]| self.utility(&self.moved(base, &updates, members));
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            for place in 0..3 {
                let marginal = utility(&order[..=place]) - utility(&order[..place]);
                shapley[order[place]] += marginal / 6.0;
            }
        }
        for (client, value) in leave_one_out.iter_mut().enumerate() {
            let others: Vec<usize> = (0..3).filter(|other| *other != client).collect();
            *value += utility(&[0, 1, 2]) - utility(&others);
        }
        self.moved(base, &updates, &[0, 1, 2])
    }
}

#[tokio::test]
async fn the_values_are_those_of_all_orders_of_the_clients() {
    let settings = settings(3, &json!({}));
    let scene = Scene::of(&settings);
    let mut base: Vec<f64> = scene.model.initial_weights().into_iter().map(f64::from).collect();
    let (mut shapley, mut leave_one_out) = ([0.0; 3], [0.0; 3]);
    for _ in 0..ROUNDS {
        base = scene.round(&base, &mut shapley, &mut leave_one_out);
    }
    let (_, found) = contributions(simulation(description(3, ROUNDS, &json!({})), settings, 2, None)).await;
    assert_eq!((found.exact_rounds, found.evaluations), (2, 16), "eight sets of three clients, twice");
    for client in 0..3 {
        let one = of(&found, client);
        assert_eq!(one.rounds, 2);
        assert!((one.shapley - shapley[client]).abs() < 1e-5, "{one:?}: {shapley:?}");
        assert!((one.leave_one_out - leave_one_out[client]).abs() < 1e-5, "{one:?}: {leave_one_out:?}");
    }
    let spread =
        shapley.iter().fold(f64::NEG_INFINITY, |most, value| most.max(*value)) - shapley[0].min(shapley[1]);
    assert!(spread > 1e-3, "the clients differ: {shapley:?}");
}

/// Every version is made again from its updates: the utility of all clients of a round is that of none of the next round, so the gains of
/// all rounds add up to the metric of the last version minus that of the first model. This holds for a codec, for a rule that bounds
/// updates, and for a finalizer with state.
#[tokio::test]
async fn the_values_of_all_clients_add_up_to_what_the_metric_gained() {
    for changes in [
        json!({ "plan": task(&json!({})).plan, "aggregator": { "kind": "bounded_mean" } }),
        json!({ "finalizer": { "kind": "fed_adam" }, "aggregator": { "kind": "uniform_mean" } }),
        json!({ "finalizer": { "kind": "fed_avg_m" }, "compression": { "codec": "eden:4" } }),
        json!({ "aggregator": { "kind": "norm_bound", "norm_max": 0.2 } }),
        json!({ "aggregator": { "kind": "fed_nova" }, "plan": task(&json!({})).plan }),
    ] {
        let settings = settings(6, &json!({ "partition": { "kind": "dirichlet", "alpha": 0.5 } }));
        let scene = Scene::of(&settings);
        let first: Vec<f64> = scene.model.initial_weights().into_iter().map(f64::from).collect();
        let (outcome, found) =
            contributions(simulation(description(6, 3, &changes), settings, 1, None)).await;
        let gained = -outcome.last_metric().expect("versions are measured") - scene.utility(&first);
        assert_eq!((outcome.version, found.exact_rounds), (3, 3), "{changes}");
        let total: f64 = found.clients.iter().map(|one| one.shapley).sum();
        assert!((found.gain - gained).abs() < 1e-5, "{changes}: {} and {gained}", found.gain);
        assert!((total - gained).abs() < 1e-5 && gained.abs() > 1e-3, "{changes}: {total} and {gained}");
    }
}

#[tokio::test]
async fn clients_with_equal_examples_contribute_equally() {
    let DataSource::Given { training, .. } = digits() else { unreachable!("the digits are read") };
    let rows = |rows: std::ops::Range<usize>| rows.collect::<Vec<usize>>();
    let all = [rows(0..60), rows(0..60), rows(60..120)].concat();
    let groups = Groups {
        of: (0..180).map(|row| row / 60).collect(),
        names: ["a", "b", "c"].map(str::to_owned).to_vec(),
    };
    let examples = training.examples.subset(&all).expect("the rows are there");
    let held_out = training.examples.subset(&rows(300..600)).expect("the rows are there");
    let source =
        DataSource::Given { training: Dataset { examples, groups: Some(groups) }, held_out: Some(held_out) };
    let settings = settings(3, &json!({ "partition": { "kind": "natural" } }));
    let simulation = Simulation { source, ..simulation(description(3, 2, &json!({})), settings, 1, None) };
    let (_, found) = contributions(simulation).await;
    let values: Vec<f64> = found.clients.iter().map(|one| one.shapley).collect();
    // The clients of the world are not in the order of the groups.
    let closest =
        [(0, 1), (0, 2), (1, 2)].map(|(one, other): (usize, usize)| (values[one] - values[other]).abs());
    let [least, most] =
        [f64::min, f64::max].map(|choose| closest.into_iter().reduce(choose).expect("three pairs"));
    assert!(least < 1e-6 && most > 1e-4, "two are equal, and the third is not: {values:?}");
}

#[tokio::test]
async fn a_client_that_hurts_comes_last() {
    let normal = json!({ "kind": "gaussian_noise", "standard_deviation": 0.3 });
    let rotated = json!({ "kind": "label_rotate", "classes": 10 });
    for attack in [normal, rotated] {
        let adversary = json!({ "clients": [2], "attack": attack });
        let settings = settings(6, &json!({ "partition": { "kind": "iid" }, "adversary": adversary }));
        let plan = task(&json!({})).plan;
        let description = description(6, 4, &json!({ "plan": plan }));
        let (_, found) = contributions(simulation(description, settings, 2, None)).await;
        let last = found.clients.last().expect("there are clients");
        assert!(last.client == 2 && last.is_hostile && last.shapley < 0.0, "{attack}: {found:?}");
        assert!(found.clients[..5].iter().all(|one| !one.is_hostile && one.shapley > 0.0), "{found:?}");
    }
}

#[tokio::test]
async fn sampled_values_are_close_and_do_not_depend_on_the_threads() {
    let sampling = json!({ "contributions": { "exact_clients_max": 0, "passes_max": 30, "tolerance": 0.0 } });
    let run = |changes: Value, threads: usize| {
        contributions(simulation(description(5, 2, &json!({})), settings(5, &changes), threads, None))
    };
    let (_, exact) = run(json!({}), 1).await;
    let (_, sampled) = run(sampling.clone(), 1).await;
    let (_, again) = run(sampling, 3).await;
    assert_eq!(sampled, again, "one thread and three");
    assert_eq!((exact.exact_rounds, sampled.sampled_rounds), (2, 2));
    assert!((sampled.gain - exact.gain).abs() < 1e-12);
    let total: f64 = sampled.clients.iter().map(|one| one.shapley).sum();
    assert!((total - exact.gain).abs() < 1e-9, "{total} and {}", exact.gain);
    for one in &sampled.clients {
        let off = (one.shapley - of(&exact, one.client).shapley).abs();
        assert!(off < 0.1 * exact.gain.abs(), "{one:?}: {exact:?}");
        assert!((one.leave_one_out - of(&exact, one.client).leave_one_out).abs() < 1e-12);
    }
}

#[tokio::test]
async fn a_world_that_cannot_tell_is_refused_with_a_reason() {
    let flow = json!({ "scheduling": { "kind": "buffered", "buffer_goal": 2, "concurrency": 3 } });
    let private =
        json!({ "privacy": { "kind": "local", "clipping_norm": 1.0, "epsilon": 8.0, "delta": 1e-5 } });
    for (changes, world, word) in [
        (flow, json!({}), "has no rounds"),
        (json!({ "aggregator": { "kind": "median" } }), json!({}), "not a mean"),
        (private, json!({}), "privacy.kind is set"),
        (json!({ "protection": { "secure_aggregation": {} } }), json!({}), "masks the updates"),
        (json!({}), json!({ "held_out_of_clients": true }), "no held-out examples"),
        (json!({}), json!({ "contributions": { "passes_max": 0 } }), "contributions.passes_max is 0"),
    ] {
        let simulation = simulation(description(3, 1, &changes), settings(3, &world), 1, None);
        let error = ran(simulation).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(word), "{changes} {world}: {error}");
    }
}

fn simulated(folder: &std::path::Path, arguments: &str) -> Output {
    let example = |name: &str| format!("{}/../../examples/digits/{name}", env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_folkmoot"))
        .current_dir(folder)
        .args([
            "simulate",
            &example("crowd-task.toml"),
            "--clients",
            "25",
            "--threads",
            "1",
            "--contributions",
        ])
        .args(["--model", &example("model.onnx"), "--data", &example("digits.csv"), "--output", "out"])
        .args(arguments.split_whitespace())
        .output()
        .expect("the binary was built for this test")
}

#[test]
fn the_command_prints_the_table_and_writes_it_to_the_report() {
    let folder = tempfile::tempdir().expect("the test has a folder of its own");
    let world = "[contributions]\npasses_max = 1\ntolerance = 0.02\n";
    std::fs::write(folder.path().join("world.toml"), world).expect("the folder is the test's");
    let output = simulated(folder.path(), "--world world.toml --json");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let found = &summary["contributions"];
    let clients = found["clients"].as_array().expect("it lists the clients");
    let values: Vec<f64> = clients.iter().filter_map(|one| one["shapley"].as_f64()).collect();
    assert!(clients.len() > 20 && values.is_sorted_by(|one, other| one >= other), "{found}");
    let rounds = |kind: &str| found[kind].as_u64().unwrap_or_default();
    assert_eq!(rounds("sampled_rounds") + rounds("truncated_rounds"), 30, "{found}");
    assert!(found["metric"] == "accuracy" && rounds("evaluations") > 60, "{found}");
    let html = std::fs::read_to_string(folder.path().join("out/report.html")).expect("it is written");
    assert!(
        html.contains("<h2>Contributions of the clients</h2>") && html.contains("client 3</th>"),
        "{html}"
    );
}
