//! Compares models of several widths with one that every device can train.

use folkmoot_engine::onnx::build::mlp;
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
/// The hidden units of the whole model, and of the one that every device can train.
const UNITS: [usize; 2] = [64, 4];
/// Memory for the whole model, and for the narrow one only, in bytes. The whole one needs some 75 kB with these batches.
const MEMORY: [u64; 2] = [1_000_000, 20_000];

const METHODS: [&str; 4] = [
    "the whole model on all devices",
    "HeteroFL: half of the devices train the narrow one",
    "FjORD: the same devices, widths drawn",
    "the narrow model on all devices",
];
const WHOLE: usize = 0;
const HETERO_FL: usize = 1;
const NARROW: usize = 3;

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let (whole, rounds) = (lab.digits_model()?, if lab.is_quick { 8 } else { 100 });
    let narrow = mlp(&[64, UNITS[1], 10], 1).into();
    let arms = METHODS.iter().enumerate().map(|(method, name)| {
        let onnx = if method == NARROW { &narrow } else { &whole };
        let world = json!({
            "clients": CLIENTS,
            "partition": { "kind": "dirichlet", "alpha": 0.5 },
            "devices": { "memory_bytes_max": MEMORY },
        });
        Arm::new(("digits", name), task(method), world, onnx, rounds)
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
    if method != WHOLE && method != NARROW {
        let ratio = UNITS[1] as f64 / UNITS[0] as f64;
        plan["widths"] = json!({ "ratios": [1.0, ratio], "sampled": method != HETERO_FL });
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
            "the global model that strong and weak devices train together is more accurate than the narrow model that all can \
             train (HeteroFL, section 4: a-e above e)",
            HETERO_FL,
            NARROW,
        ),
        claim(
            "the whole model on every device is more accurate still (HeteroFL, section 4: a above a-e)",
            WHOLE,
            HETERO_FL,
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
             rate {RATE}. The whole model is a perceptron 64-{}-10, and the narrow one has {} hidden units. Every second device has memory \
             for the narrow one only. The versions are measured with the whole model. The papers use images and deeper networks.",
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
