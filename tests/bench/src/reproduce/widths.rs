//! Compares a model that all devices train as a whole with one that many train in part.

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

const CLIENTS: usize = 50;
const COHORT: u64 = 10;
const EPOCHS: u32 = 2;
const RATE: f64 = 0.05;
/// The hidden units of the whole model, and of the narrow one.
const UNITS: [usize; 2] = [64, 8];
/// Memory for the whole model, and for the narrow one only, in bytes. The whole one needs some 75 kB with these batches.
const MEMORY: [u64; 2] = [1_000_000, 30_000];

const METHODS: [&str; 4] = [
    "the whole model on all devices",
    "HeteroFL: half of the devices train the narrow one",
    "HeteroFL: four of five devices train the narrow one",
    "FjORD: half of the devices, and widths drawn",
];
const WHOLE: usize = 0;
const HALF: usize = 1;
const MOST: usize = 2;
const FJORD: usize = 3;

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let rounds = if lab.is_quick { 8 } else { 100 };
    let onnx = lab.digits_model()?;
    let arms = METHODS.iter().enumerate().map(|(method, name)| {
        let [strong, weak] = MEMORY;
        let memory = if method == MOST { vec![strong, weak, weak, weak, weak] } else { vec![strong, weak] };
        let world = json!({
            "clients": CLIENTS,
            "partition": { "kind": "dirichlet", "alpha": 0.5 },
            "devices": { "memory_bytes_max": memory },
        });
        Arm::new(("digits", name), task(method), world, &onnx, rounds)
    });
    Ok(finding(lab.run(arms.collect::<Result<_, Failure>>()?)?, rounds))
}

fn task(method: usize) -> Value {
    let mut plan = json!({
        "loss": "softmax_cross_entropy",
        "optimizer": { "sgd": { "learning_rate": RATE } },
        "epochs": EPOCHS,
        "batch_size": 10,
    });
    if method != WHOLE {
        let ratio = UNITS[1] as f64 / UNITS[0] as f64;
        plan["widths"] = json!({ "ratios": [1.0, ratio], "sampled": method == FJORD });
    }
    json!({
        "plan": plan,
        "aggregator": { "kind": "weighted_mean" },
        "scheduling": { "kind": "synchronous", "report_goal": COHORT, "over_selection_factor": 1.0 },
    })
}

fn finding(series: Vec<Series>, rounds: usize) -> Finding {
    let accuracy = |method: usize| series[method].sample(|trial| trial.late(Shows::Accuracy));
    let claim = |published: &str, better: usize, worse: usize| {
        let estimate = Estimate::difference(&accuracy(better), &accuracy(worse));
        Claim::new(published.to_owned(), Unit::POINTS, Says::Above(0.0), estimate)
    };
    let claims = vec![
        claim(
            "the whole model on every device is more accurate than HeteroFL (HeteroFL, section 4: a above a-e)",
            WHOLE,
            HALF,
        ),
        claim(
            "HeteroFL is more accurate with more devices that train the whole model (HeteroFL, section 4)",
            HALF,
            MOST,
        ),
    ];
    let title = "Accuracy on held-out data, mean over the last tenth of the rounds";
    let mut table = Table::new(title, &["method", "accuracy"]);
    for one in &series {
        table.rows.push(vec![one.arm.name.clone(), one.late(Shows::Accuracy).percent()]);
    }
    let plot = Plot {
        x: "round",
        y: "accuracy on held-out data",
        is_share: true,
        panels: vec![panel(&series, Shows::Accuracy)],
        ..Plot::default()
    };
    Finding {
        name: "widths",
        title: "HeteroFL: narrower models on weak devices",
        source: "Diao, Ding and Tarokh 2021, \"HeteroFL: computation and communication efficient federated learning for heterogeneous \
                 clients\". Horváth et al. 2021, \"FjORD: fair and accurate federated learning under heterogeneous targets with \
                 ordered dropout\".",
        setting: format!(
            "Here: the 1,797 digits, {CLIENTS} clients by Dirichlet(0.5), {COHORT} drawn a round, {rounds} rounds, E = {EPOCHS}, B = 10, \
             rate {RATE}. The whole model is a perceptron 64-{}-10, and the narrow one has {} hidden units. The devices that do \
             not train the whole model have memory for the narrow one only. The versions are measured with the whole model. The papers use images and deeper networks.",
            UNITS[0], UNITS[1]
        ),
        target: None,
        claims,
        tables: vec![table],
        notes: Vec::new(),
        plot,
        series,
    }
}
