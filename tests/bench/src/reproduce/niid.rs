//! Compares five methods on six ways to divide data, as in NIID-Bench.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample},
    finding::{Finding, Table},
    lab::Lab,
    plot::Plot,
    series::{Series, Shows, panel},
};
use crate::Failure;

const CLIENTS: u64 = 10;
const EPOCHS: u32 = 10;
const BATCH: u32 = 16;
const RATE: f64 = 0.05;
const MU: f64 = 0.01;

const METHODS: [&str; 5] = ["FedAvg", "FedProx", "SCAFFOLD", "FedNova", "MOON"];
const FED_AVG: usize = 0;
const FED_PROX: usize = 1;
const SCAFFOLD: usize = 2;
const FED_NOVA: usize = 3;
const MOON: usize = 4;

/// The ways to divide the digits.
const DATA: [&str; 6] =
    ["IID", "Dirichlet(0.5)", "1 label", "2 labels", "3 labels", "quantity Dirichlet(0.5)"];
const DIRICHLET: usize = 1;
const TWO_LABELS: usize = 3;

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = lab.digits_model()?;
    let rounds_max = if lab.is_quick { 5 } else { 50 };
    let mut arms = Vec::new();
    for data in 0..DATA.len() {
        for method in 0..METHODS.len() {
            arms.push(arm(data, method, &onnx, rounds_max)?);
        }
    }
    Ok(finding(lab.run(arms)?, rounds_max))
}

fn partition(data: usize) -> Value {
    match DATA[data] {
        "IID" => json!({ "kind": "iid" }),
        "Dirichlet(0.5)" => json!({ "kind": "dirichlet", "alpha": 0.5 }),
        "1 label" => json!({ "kind": "shards", "shards_per_client": 1 }),
        "2 labels" => json!({ "kind": "shards", "shards_per_client": 2 }),
        "3 labels" => json!({ "kind": "shards", "shards_per_client": 3 }),
        "quantity Dirichlet(0.5)" => {
            json!({ "kind": "quantity_skew", "sizes": { "dirichlet": { "alpha": 0.5 } } })
        }
        other => unreachable!("{other} is not in the list"),
    }
}

fn arm(data: usize, method: usize, onnx: &Bytes, rounds_max: usize) -> Result<Arm, Failure> {
    let mut task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": RATE } },
            "epochs": EPOCHS,
            "batch_size": BATCH,
            "proximal_term": if method == FED_PROX { MU } else { 0.0 },
        },
        "aggregator": { "kind": if method == FED_NOVA { "fed_nova" } else { "weighted_mean" } },
        "scheduling": { "kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0 },
    });
    if method == SCAFFOLD {
        task["finalizer"] = json!({ "kind": "scaffold", "clients": CLIENTS });
    }
    if method == MOON {
        task["plan"]["model_contrast"] = json!({ "features": "activated" });
    }
    let world = json!({ "clients": CLIENTS, "partition": partition(data) });
    Arm::new((DATA[data], METHODS[method]), task, world, onnx, rounds_max)
}

fn accuracy(series: &[Series], data: usize, method: usize) -> Sample {
    series[data * METHODS.len() + method].sample(|trial| trial.late(Shows::Accuracy))
}

fn claims(series: &[Series]) -> Vec<Claim> {
    let mut claims = Vec::new();
    // Differences from FedAvg in points, on MNIST and on CIFAR-10.
    for (data, method, mnist, cifar) in [
        (DIRICHLET, SCAFFOLD, 0.18, 5.61),
        (DIRICHLET, FED_PROX, 0.13, 3.16),
        (DIRICHLET, FED_NOVA, -0.86, 1.42),
        (TWO_LABELS, SCAFFOLD, 0.06, -1.75),
        (TWO_LABELS, FED_PROX, -0.01, -0.73),
        (TWO_LABELS, FED_NOVA, -0.21, -4.27),
    ] {
        let text = format!(
            "{}: {} differs from FedAvg by {mnist:+.2} points on MNIST and {cifar:+.2} on CIFAR-10",
            DATA[data], METHODS[method]
        );
        let says = match (mnist > 0.0, cifar > 0.0) {
            (true, true) => Says::Above(0.0),
            (false, false) => Says::Below(0.0),
            // The published data sets disagree.
            _ => continue,
        };
        let estimate =
            Estimate::difference(&accuracy(series, data, method), &accuracy(series, data, FED_AVG));
        claims.push(Claim::new(text, Unit::POINTS, says, estimate));
    }
    let text = format!(
        "{}: MOON differs from FedAvg by +2.80 points on CIFAR-10 (Li, He and Song 2021, table 1)",
        DATA[DIRICHLET]
    );
    let of = |method| accuracy(series, DIRICHLET, method);
    let estimate = Estimate::difference(&of(MOON), &of(FED_AVG));
    claims.push(Claim::new(text, Unit::POINTS, Says::Above(0.0), estimate));
    claims
}

fn finding(series: Vec<Series>, rounds: usize) -> Finding {
    let heading: Vec<&str> = ["data"].into_iter().chain(METHODS).collect();
    let mut table = Table::new("Held-out accuracy, mean over the last tenth of the rounds", &heading);
    for (data, name) in DATA.iter().enumerate() {
        let of = |method: usize| series[data * METHODS.len() + method].late(Shows::Accuracy).percent();
        table.rows.push([(*name).to_owned()].into_iter().chain((0..METHODS.len()).map(of)).collect());
    }
    let panels = series.chunks(METHODS.len()).map(|group| panel(group, Shows::Accuracy)).collect();
    Finding {
        name: "niid",
        title: "NIID-Bench and MOON: five methods, six kinds of data",
        source: "Li, Diao, Chen and He 2022, \"Federated learning on non-IID data silos: an experimental study\"; the published \
                 figures are those of Flower's replication with MNIST and CIFAR-10. Li, He and Song 2021, \"Model-contrastive federated learning\".",
        setting: format!(
            "Here: the 1,797 digits and a perceptron 64-64-10 (there a CNN), {CLIENTS} clients, all in each of {rounds} rounds, E = {EPOCHS}, B = {BATCH}, \
             plain SGD of rate {RATE} (there with momentum 0.9, which SCAFFOLD does not allow here), mu = {MU}; MOON has \
             the weight 1 and the temperature 0.5, and contrasts the hidden layer, without the paper's projection head. With \"1 label\", \
             each client has one shard of the sorted digits."
        ),
        target: None,
        claims: claims(&series),
        tables: vec![table],
        notes: Vec::new(),
        plot: Plot { x: "round", y: "accuracy", is_share: true, panels, ..Plot::default() },
        series,
    }
}
