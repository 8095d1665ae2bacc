//! Compares averaging with normalised averaging, for clients that make different numbers of local steps.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::Estimate,
    finding::{Finding, Table},
    lab::Lab,
    plot::Plot,
    series::{Series, Shows, panel},
};
use crate::Failure;

const CLIENTS: u64 = 16;
const EPOCHS: u32 = 5;
const BATCH: u32 = 16;
/// The rates of plain SGD and of SGD with momentum 0.9.
const MOMENTA: [(f64, f64); 2] = [(0.0, 0.1), (0.9, 0.02)];
/// The median device needs 0.67 times this for all of its work, and each has [`LIMIT_SECONDS`].
const SECONDS: f64 = 10.0;
const LIMIT_SECONDS: f64 = 5.0;
const METHODS: [(&str, &str); 2] = [("FedAvg", "weighted_mean"), ("FedNova", "fed_nova")];
/// The published gains of FedNova, for both momenta, with the same number of epochs and with random ones.
const PUBLISHED: [[f64; 2]; 2] = [[67.04 - 62.35, 73.01 - 70.78], [70.54 - 64.30, 74.26 - 72.75]];

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = lab.digits_model()?;
    let rounds_max = if lab.is_quick { 8 } else { 60 };
    let mut arms = Vec::new();
    for is_random in [false, true] {
        for momentum in 0..MOMENTA.len() {
            for (name, kind) in METHODS {
                arms.push(arm((name, kind), momentum, is_random, &onnx, rounds_max)?);
            }
        }
    }
    Ok(finding(lab.run(arms)?, rounds_max))
}

fn group(momentum: usize, is_random: bool) -> String {
    let steps = if is_random { "partial work" } else { "all epochs" };
    format!("{steps}, momentum {}", MOMENTA[momentum].0)
}

fn arm(
    (name, kind): (&str, &str),
    momentum: usize,
    is_random: bool,
    onnx: &Bytes,
    rounds_max: usize,
) -> Result<Arm, Failure> {
    let (beta, rate) = MOMENTA[momentum];
    let mut task: Value = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": rate, "momentum": beta } },
            "epochs": EPOCHS,
            "batch_size": BATCH,
        },
        "aggregator": { "kind": kind },
        "scheduling": { "kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0 },
    });
    if is_random {
        task["plan"]["time_limit_seconds"] = json!(LIMIT_SECONDS);
    }
    let world = json!({
        "clients": CLIENTS,
        "partition": { "kind": "dirichlet", "alpha": 0.1 },
        "devices": { "compute": { "kind": "half_normal", "scale_seconds": SECONDS } },
    });
    Arm::new((&group(momentum, is_random), name), task, world, onnx, rounds_max)
}

fn claims(series: &[Series]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (steps, published) in PUBLISHED.iter().enumerate() {
        for (momentum, points) in published.iter().enumerate() {
            let place = (steps * MOMENTA.len() + momentum) * METHODS.len();
            let of = |method: usize| series[place + method].sample(|trial| trial.late(Shows::Accuracy));
            let text = format!(
                "{}: FedNova has more test accuracy than FedAvg (table 1, on CIFAR-10; there with 2 epochs or with 2 to 5)",
                group(momentum, steps == 1)
            );
            let estimate = Estimate::difference(&of(1), &of(0));
            claims.push(Claim::new(text, Unit::POINTS, Says::Above(0.0), estimate).sized(points / 100.0));
        }
    }
    claims
}

fn finding(series: Vec<Series>, rounds: usize) -> Finding {
    let title = "Held-out accuracy, mean over the last tenth of the rounds";
    let mut table = Table::new(title, &["local work", "method", "accuracy"]);
    for one in &series {
        let accuracy = one.late(Shows::Accuracy).percent();
        table.rows.push(vec![one.arm.group.clone(), one.arm.name.clone(), accuracy]);
    }
    let panels = series.chunks(METHODS.len()).map(|group| panel(group, Shows::Accuracy)).collect();
    Finding {
        name: "fed-nova",
        title: "FedNova: updates divided by local work",
        source: "Wang et al. 2020, \"Tackling the objective inconsistency problem in heterogeneous federated optimization\", \
                 table 1 (CIFAR-10, VGG-11).",
        setting: format!(
            "Here: the 1,797 digits and a perceptron 64-64-10, {CLIENTS} clients with Dirichlet(0.1) data, all in each of {rounds} \
             rounds, at most {EPOCHS} epochs, B = {BATCH}. Clients have different numbers of examples, so already all epochs are \
             different numbers of steps. With partial work, a device ends after {LIMIT_SECONDS} s, and its whole work takes \
             |N(0, 1)| times {SECONDS} s."
        ),
        target: None,
        claims: claims(&series),
        tables: vec![table],
        notes: Vec::new(),
        plot: Plot { x: "round", y: "accuracy", is_share: true, panels, ..Plot::default() },
        series,
    }
}
