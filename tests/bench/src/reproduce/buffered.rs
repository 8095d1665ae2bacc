//! Compares FedBuff with synchronous rounds that have the same number of clients in training.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample},
    finding::{Finding, Table},
    lab::Lab,
    plot::{Panel, Plot},
    series::{Over, Series, Shows, Trial},
};
use crate::Failure;

const CLIENTS: u64 = 50;
/// The number of clients that train at the same time, in every arm.
const CONCURRENCY: u64 = 30;
/// FedBuff's K, the number of updates per commit.
const BUFFER: u64 = 10;
const SCALE_SECONDS: f64 = 60.0;
const TARGET: f64 = 0.9;
const CLIENT_RATES: [f64; 2] = [0.1, 0.3];
const SERVER_RATES: [f64; 2] = [0.3, 1.0];
const FED_BUFF: usize = 2;
const METHODS: [&str; 4] =
    ["synchronous, all 30 awaited", "synchronous, 30 drawn for 23", "FedBuff, K = 10", "FedAsync"];

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = lab.digits_model()?;
    let hours = if lab.is_quick { 0.25 } else { 1.5 };
    let mut families = Vec::new();
    for (method, name) in METHODS.iter().enumerate() {
        let mut family = Vec::new();
        for client_rate in CLIENT_RATES {
            for server_rate in SERVER_RATES {
                family.push(arm(method, name, (client_rate, server_rate), &onnx, hours)?);
            }
        }
        families.push(family);
    }
    // An arm that reaches the target earlier is better. Among arms that never reach it, the arm with the higher
    // accuracy is better.
    let score = |trial: &Trial| match trial.minutes_to(TARGET) {
        Some(minutes) => Some(-minutes),
        None => Some(trial.late(Shows::Accuracy)? - 1e6),
    };
    Ok(finding(lab.run_best(families, score)?))
}

fn scheduling(method: usize) -> Value {
    let staleness = json!({ "weight": { "kind": "polynomial", "exponent": 0.5 } });
    match method {
        0 => json!({ "kind": "synchronous", "report_goal": CONCURRENCY, "over_selection_factor": 1.0 }),
        1 => json!({ "kind": "synchronous", "report_goal": 23, "over_selection_factor": 1.3 }),
        2 => json!({
            "kind": "buffered", "buffer_goal": BUFFER, "concurrency": CONCURRENCY, "staleness": staleness,
        }),
        _ => json!({
            "kind": "asynchronous",
            "concurrency": CONCURRENCY,
            "staleness": {
                "weight": { "kind": "polynomial", "exponent": 0.5 },
                "correction": { "kind": "model_mixing" },
            },
        }),
    }
}

fn arm(
    method: usize,
    name: &str,
    (client, server): (f64, f64),
    onnx: &Bytes,
    hours: f64,
) -> Result<Arm, Failure> {
    let task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": client } },
            "epochs": 1,
            "batch_size": 8,
        },
        "scheduling": scheduling(method),
        "finalizer": { "kind": "fed_avg", "server_learning_rate": server },
        "stop": { "hours": hours, "target": TARGET },
        "evaluation": { "every_versions": 1, "metric": "accuracy", "central": true },
    });
    let world = json!({
        "clients": CLIENTS,
        "partition": { "kind": "dirichlet", "alpha": 0.5 },
        "devices": { "compute": { "kind": "half_normal", "scale_seconds": SCALE_SECONDS } },
        "hours_max": hours,
    });
    let arm = Arm::new(("Half-normal delays", name), task, world, onnx, 5000)?;
    Ok(arm.tuned(format!("client {client}, server {server}")))
}

fn finding(series: Vec<Series>) -> Finding {
    let of = |value: fn(&Trial, f64) -> Option<f64>| -> Vec<Sample> {
        series.iter().map(|one| one.sample(|trial| value(trial, TARGET))).collect()
    };
    let (minutes, trainings) = (of(Trial::minutes_to), of(Trial::trainings_to));
    let mut claims = Vec::new();
    for (published, other, size) in [
        ("more efficient than synchronous FL (abstract)", 0, 3.3),
        ("more efficient than synchronous FL (abstract)", 1, 3.3),
        ("more efficient than asynchronous FL (abstract, \"up to\")", 3, 2.5),
    ] {
        for (measured, figures) in [("virtual time", &minutes), ("trainings", &trainings)] {
            let published = format!("{published}; here the {measured} of: {}", METHODS[other]);
            let estimate = Estimate::factor(&figures[other], &figures[FED_BUFF]);
            claims.push(Claim::new(published, Unit::TIMES, Says::Above(1.0), estimate).sized(size));
        }
    }
    let heading = ["method", "tuned rates", "minutes", "trainings", "staleness"];
    let mut table =
        Table::new(&format!("Virtual minutes and trainings to {:.0} %", TARGET * 100.0), &heading);
    for (index, one) in series.iter().enumerate() {
        let staleness = one.spread(Trial::staleness).unwrap_or_default();
        table.rows.push(vec![
            one.arm.name.clone(),
            one.arm.tuned.clone(),
            minutes[index].to_string(),
            trainings[index].to_string(),
            staleness.show(1),
        ]);
    }
    let lines = series.iter().map(|one| one.line(Over::Minutes, Shows::Accuracy)).collect();
    Finding {
        name: "buffered",
        title: "Buffered asynchronous rounds",
        source: "Nguyen et al. 2022, \"Federated learning with buffered asynchronous aggregation\".",
        setting: format!(
            "Here: the digits, dealt to {CLIENTS} clients by a Dirichlet distribution of 0.5; a training takes \
             |N(0, 1)|·{SCALE_SECONDS} s as in the paper, and {CONCURRENCY} clients train at the same time in every \
             arm. Every method has the best pair of client rates {CLIENT_RATES:?} and server rates {SERVER_RATES:?}, \
             by the time to the target with a seed that is not measured."
        ),
        target: Some(TARGET),
        claims,
        tables: vec![table],
        notes: Vec::new(),
        plot: Plot {
            x: "virtual minutes",
            y: "accuracy, %",
            is_share: true,
            panels: vec![Panel { title: "Half-normal delays".to_owned(), lines }],
            ..Plot::default()
        },
        series,
    }
}
