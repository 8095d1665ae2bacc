//! Adaptive server optimizers on sparse features.

use bytes::Bytes;
use folkmoot_engine::onnx::build::mlp;
use serde_json::json;

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample},
    finding::{Finding, Table},
    lab::Lab,
    plot::{Panel, Plot},
    series::{Over, Series, Shows},
};
use crate::Failure;

const CLIENTS: u64 = 100;
const COHORT: u64 = 10;
/// The number of words: 500 uninformative words, and 50 rare words for each of ten classes.
const FEATURES: usize = 500 + 50 * 10;
const CLIENT_RATES: [f64; 4] = [0.03, 0.1, 0.3, 1.0];
/// The server learning rates to try, for FedAvg and FedAvgM, and for the adaptive optimizers.
const PLAIN_RATES: [f64; 4] = [0.3, 1.0, 3.0, 10.0];
const ADAPTIVE_RATES: [f64; 4] = [0.003, 0.01, 0.03, 0.1];
const METHODS: [(&str, &str, &[f64]); 5] = [
    ("FedAdagrad", "fed_adagrad", &ADAPTIVE_RATES),
    ("FedAdam", "fed_adam", &ADAPTIVE_RATES),
    ("FedYogi", "fed_yogi", &ADAPTIVE_RATES),
    ("FedAvgM", "fed_avg_m", &PLAIN_RATES),
    ("FedAvg", "fed_avg", &[1.0]),
];

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = Bytes::from(mlp(&[FEATURES, 10], 1));
    let rounds_max = if lab.is_quick { 10 } else { 60 };
    let mut families = Vec::new();
    for (name, kind, server_rates) in METHODS {
        let mut family = Vec::new();
        for client_rate in CLIENT_RATES {
            for server_rate in server_rates {
                family.push(arm(name, kind, (client_rate, *server_rate), &onnx, rounds_max)?);
            }
        }
        families.push(family);
    }
    let series = lab.run_best(families, |trial| trial.late(Shows::Accuracy))?;
    Ok(finding(series, rounds_max))
}

fn arm(
    name: &str,
    kind: &str,
    (client, server): (f64, f64),
    onnx: &Bytes,
    rounds_max: usize,
) -> Result<Arm, Failure> {
    let task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": client } },
            "epochs": 1,
            "batch_size": 10,
        },
        "scheduling": { "kind": "synchronous", "report_goal": COHORT, "over_selection_factor": 1.0 },
        "finalizer": { "kind": kind, "server_learning_rate": server },
    });
    let world = json!({
        "clients": CLIENTS,
        "partition": { "kind": "natural" },
        "synthetic": { "kind": "sparse_features", "clients": CLIENTS },
    });
    let arm = Arm::new(("Sparse features", name), task, world, onnx, rounds_max)?;
    Ok(arm.tuned(format!("client {client}, server {server}")))
}

fn finding(series: Vec<Series>, rounds_max: usize) -> Finding {
    let accuracy: Vec<Sample> =
        series.iter().map(|one| one.sample(|trial| trial.late(Shows::Accuracy))).collect();
    let (adaptive, plain) = accuracy.split_at(3);
    let mut claims = Vec::new();
    for (index, other) in plain.iter().enumerate() {
        for (method, one) in adaptive.iter().enumerate() {
            let (name, other_name) = (METHODS[method].0, METHODS[adaptive.len() + index].0);
            claims.push(Claim::new(
                format!(
                    "on tasks with sparse gradients {name} is ahead of {other_name} (section 5.2, table 1)"
                ),
                Unit::POINTS,
                Says::Above(0.0),
                Estimate::difference(one, other),
            ));
        }
    }
    let heading = ["method", "tuned rates", "accuracy at the end", "mean accuracy over all rounds"];
    let mut table = Table::new(&format!("After {rounds_max} rounds"), &heading);
    for one in &series {
        let area = one.spread(|trial| trial.area(Shows::Accuracy)).unwrap_or_default();
        table.rows.push(vec![
            one.arm.name.clone(),
            one.arm.tuned.clone(),
            one.late(Shows::Accuracy).percent(),
            area.percent(),
        ]);
    }
    let lines = series.iter().map(|one| one.line(Over::Rounds, Shows::Accuracy)).collect();
    Finding {
        name: "adaptive",
        title: "Adaptive server optimizers on sparse features",
        source: "Reddi et al. 2021, \"Adaptive federated optimization\", section 5 and table 1.",
        setting: format!(
            "Here: bags of words in which rare words name the class (`sparse_features`), logistic regression with \
             {FEATURES} features, {CLIENTS} clients, {COHORT} drawn a round, {rounds_max} rounds for everybody. Every \
             method has the best of all pairs of client rates {CLIENT_RATES:?} and server rates ({ADAPTIVE_RATES:?}; \
             FedAvgM {PLAIN_RATES:?}; FedAvg 1), by the accuracy at the end with a seed that is not measured."
        ),
        target: None,
        claims,
        tables: vec![table],
        notes: Vec::new(),
        plot: Plot {
            x: "round",
            y: "accuracy, %",
            is_share: true,
            panels: vec![Panel { title: "Sparse features".to_owned(), lines }],
            ..Plot::default()
        },
        series,
    }
}
