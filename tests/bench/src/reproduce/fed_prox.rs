//! Compares three ways to handle stragglers: dropping them, accepting partial work, and partial work with a proximal
//! term.

use bytes::Bytes;
use folkmoot_engine::onnx::build::mlp;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample, Scale},
    finding::{Finding, Table},
    lab::Lab,
    plot::{Panel, Plot},
    series::{Over, Series, Shows},
};
use crate::Failure;

const CLIENTS: u64 = 30;
const COHORT: u64 = 10;
const EPOCHS: u32 = 20;
/// The values of α and β. Both are equal in each data set.
const SETS: [f64; 3] = [0.0, 0.5, 1.0];
const STRAGGLERS: [f64; 3] = [0.0, 0.5, 0.9];
/// The seconds that a normal device needs for its whole work. A straggler needs 40 seconds, so it does three tenths of
/// its work within the limit.
const SECONDS: f64 = 10.0;
const SLOWER: f64 = 4.0;
const LIMIT_SECONDS: f64 = 12.0;
const DEADLINE_SECONDS: u64 = 15;
const METHODS: [(&str, bool, f64); 3] = [
    ("FedAvg, stragglers dropped", false, 0.0),
    ("FedAvg with partial work (mu = 0)", true, 0.0),
    ("FedProx (mu = 1)", true, 1.0),
];

const DROPPED: usize = 0;
const PARTIAL: usize = 1;
const PROXIMAL: usize = 2;

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = Bytes::from(mlp(&[60, 10], 1));
    let rounds_max = if lab.is_quick { 15 } else { 100 };
    let mut arms = Vec::new();
    for set in SETS {
        for share in STRAGGLERS {
            for (name, is_partial, mu) in METHODS {
                let group = group(set, share);
                arms.push(Arm::new(
                    (&group, name),
                    task(is_partial, mu),
                    world(set, share),
                    &onnx,
                    rounds_max,
                )?);
            }
        }
    }
    Ok(finding(lab.run(arms)?))
}

fn group(set: f64, share: f64) -> String {
    format!("Synthetic({set}, {set}), {:.0} % stragglers", share * 100.0)
}

fn task(is_partial: bool, mu: f64) -> Value {
    let mut task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.01 } },
            "epochs": EPOCHS,
            "batch_size": 10,
            "proximal_term": mu,
        },
        "scheduling": {
            "kind": "synchronous",
            "report_goal": COHORT,
            "over_selection_factor": 1.0,
            "minimum_cohort": 1,
            "reporting_deadline_seconds": DEADLINE_SECONDS,
        },
    });
    if is_partial {
        task["plan"]["time_limit_seconds"] = json!(LIMIT_SECONDS);
    }
    task
}

fn world(set: f64, share: f64) -> Value {
    let slow = (CLIENTS as f64 * share).round() as u64;
    json!({
        "clients": CLIENTS,
        "partition": { "kind": "natural" },
        "synthetic": { "kind": "synthetic_alpha_beta", "alpha": set, "beta": set, "clients": CLIENTS },
        "devices": {
            "compute": {
                "kind": "log_normal",
                "median_seconds_per_example": 1e-9,
                "spread": 0.0,
                "round_spread": 0.0,
                "overhead_seconds": SECONDS,
            },
            "slow": { "clients": (0..slow).collect::<Vec<u64>>(), "factor": SLOWER },
        },
    })
}

fn claims(series: &[Series]) -> Vec<Claim> {
    // All claims are about the runs with 90 % stragglers.
    let of = |set: usize, method: usize, shows: Shows| -> Sample {
        let place = (set * STRAGGLERS.len() + STRAGGLERS.len() - 1) * METHODS.len() + method;
        series[place].sample(|trial| trial.late(shows))
    };
    let mut claims = Vec::new();
    for (published, better, worse) in [
        ("partial work has a lower loss than dropping", PARTIAL, DROPPED),
        ("mu > 0 has a lower loss than mu = 0 with the same partial work", PROXIMAL, PARTIAL),
    ] {
        for (set, parameter) in SETS.iter().enumerate() {
            claims.push(Claim::new(
                format!(
                    "at 90 % stragglers, {published} (figure 1); here on Synthetic({parameter}, {parameter})"
                ),
                Unit::LOSS,
                Says::Below(0.0),
                Estimate::difference(&of(set, better, Shows::Loss), &of(set, worse, Shows::Loss)),
            ));
        }
    }
    let share = 1.0 / SETS.len() as f64;
    let gain = (0..SETS.len()).flat_map(|set| {
        [(share, of(set, PROXIMAL, Shows::Accuracy)), (-share, of(set, DROPPED, Shows::Accuracy))]
    });
    let published = "FedProx has more test accuracy than FedAvg that drops, in the mean over five highly heterogeneous data \
                     sets at 90 % stragglers (abstract, section 5.2; here over three sets)";
    let estimate = Estimate::contrast(Scale::Plain, gain.collect());
    claims.push(Claim::new(published, Unit::POINTS, Says::Above(0.0), estimate).sized(0.22));
    claims
}

fn finding(series: Vec<Series>) -> Finding {
    let mut table = Table::new(
        "Held-out loss and accuracy, mean over the last tenth of the rounds",
        &["set", "stragglers", "method", "loss", "accuracy"],
    );
    for (index, one) in series.iter().enumerate() {
        let (set, share) = (index / 9, index / 3 % 3);
        table.rows.push(vec![
            format!("Synthetic({0}, {0})", SETS[set]),
            format!("{:.0} %", STRAGGLERS[share] * 100.0),
            one.arm.name.clone(),
            one.late(Shows::Loss).show(3),
            one.late(Shows::Accuracy).percent(),
        ]);
    }
    let panel = |set: usize| Panel {
        title: group(SETS[set], STRAGGLERS[2]),
        lines: series[(set * 3 + 2) * 3..][..3]
            .iter()
            .map(|one| one.line(Over::Rounds, Shows::Loss))
            .collect(),
    };
    Finding {
        name: "fed-prox",
        title: "FedProx: stragglers and partial work",
        source: "Li et al. 2020, \"Federated optimization in heterogeneous networks\", figures 1 and 2.",
        setting: format!(
            "Here: the paper's Synthetic(α, β) sets and logistic regression, {CLIENTS} clients, {COHORT} drawn a round, \
             E = {EPOCHS}, B = 10, rate 0.01, mu = 1 as the paper has them; the coordinator's own deadline \
             ({DEADLINE_SECONDS} s) drops, and `plan.time_limit_seconds` makes work partial. Other than in the paper, \
             the stragglers are always the same devices, they do three tenths of the work instead of a random part, \
             and the loss is that of held-out examples."
        ),
        target: None,
        claims: claims(&series),
        tables: vec![table],
        notes: Vec::new(),
        plot: Plot {
            x: "round",
            y: "held-out loss",
            is_share: false,
            panels: (0..SETS.len()).map(panel).collect(),
            ..Plot::default()
        },
        series,
    }
}
