//! Compares control variates with averaging and with a proximal term, on clients whose data differ more or less.

use bytes::Bytes;
use folkmoot_engine::onnx::build::mlp;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample},
    finding::{Finding, Table},
    lab::Lab,
    plot::Plot,
    series::{Series, Shows, Trial, panel},
};
use crate::Failure;

const CLIENTS: u64 = 100;
const COHORT: u64 = 20;
/// The number of local steps in an epoch: a batch has a fifth of a client's examples.
const STEPS_PER_EPOCH: u32 = 5;
const BATCH: u32 = 3;
const EPOCHS: [u32; 3] = [1, 5, 20];
const SIMILARITIES: [f64; 3] = [0.0, 0.1, 1.0];
const RATES: [f64; 3] = [0.01, 0.03, 0.1];
const TARGET: f64 = 0.85;
const METHODS: [&str; 4] = ["SGD", "FedAvg", "FedProx (mu = 1)", "SCAFFOLD"];
const SGD: usize = 0;
const FED_AVG: usize = 1;
const FED_PROX: usize = 2;
const SCAFFOLD: usize = 3;

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = Bytes::from(mlp(&[64, 10], 1));
    let rounds_max = if lab.is_quick { 10 } else { 300 };
    let mut families = Vec::new();
    for similarity in SIMILARITIES {
        for epochs in EPOCHS {
            for (method, name) in METHODS.iter().enumerate() {
                let arm = |rate: f64| {
                    let task = task(method, epochs, rate, rounds_max);
                    let group = group(similarity, epochs);
                    let arm = Arm::new((&group, name), task, world(similarity), &onnx, rounds_max)?;
                    Ok::<_, Failure>(arm.tuned(rate.to_string()))
                };
                families.push(RATES.map(arm).into_iter().collect::<Result<Vec<_>, _>>()?);
            }
        }
    }
    // A run that does not reach the target counts as slower than any that does.
    let score = |trial: &Trial| match trial.rounds_to(TARGET) {
        Some(rounds) => Some(-rounds),
        None => Some(trial.late(Shows::Accuracy)? - 1e6),
    };
    Ok(finding(lab.run_best(families, score)?, rounds_max))
}

fn group(similarity: f64, epochs: u32) -> String {
    let plural = if epochs == 1 { "" } else { "s" };
    format!("{:.0} % similar, {epochs} epoch{plural}", similarity * 100.0)
}

fn task(method: usize, epochs: u32, rate: f64, rounds_max: usize) -> Value {
    let steps = if method == SGD { 1 } else { epochs * STEPS_PER_EPOCH };
    let mut task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": rate } },
            "epochs": steps,
            "steps_max": steps,
            // One step of SGD is over all examples of a client.
            "batch_size": if method == SGD { 10_000 } else { BATCH },
            "proximal_term": if method == FED_PROX { 1.0 } else { 0.0 },
        },
        "aggregator": { "kind": "uniform_mean" },
        "scheduling": { "kind": "synchronous", "report_goal": COHORT, "over_selection_factor": 1.0 },
        "evaluation": { "every_versions": 1, "metric": "accuracy", "central": true },
        "stop": { "rounds": rounds_max, "target": TARGET },
    });
    if method == SCAFFOLD {
        task["finalizer"] = json!({ "kind": "scaffold", "clients": CLIENTS });
    }
    task
}

fn world(similarity: f64) -> Value {
    json!({
        "clients": CLIENTS,
        "partition": { "kind": "shards", "shards_per_client": 1, "iid_share": similarity },
    })
}

/// Returns the rounds to the target. A run that did not reach it counts with all of its rounds.
fn rounds(series: &[Series], similarity: usize, epochs: usize, method: usize) -> Sample {
    counted(&series[(similarity * EPOCHS.len() + epochs) * METHODS.len() + method])
}

fn counted(series: &Series) -> Sample {
    series.sample(|trial| Some(trial.rounds_to(TARGET).unwrap_or(trial.rounds.len() as f64)))
}

fn claims(series: &[Series]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (similarity, epochs, published) in [
        (0, 0, 258.0 / 77.0),
        (0, 1, 428.0 / 152.0),
        (0, 2, 1000.0 / 266.0),
        (1, 0, 74.0 / 62.0),
        (1, 1, 34.0 / 20.0),
        (1, 2, 18.0 / 11.0),
    ] {
        let text = format!(
            "with {}, FedAvg needs {published:.1} times as many rounds as SCAFFOLD (table 3)",
            group(SIMILARITIES[similarity], EPOCHS[epochs])
        );
        let of = |method| rounds(series, similarity, epochs, method);
        let estimate = Estimate::factor(&of(FED_AVG), &of(SCAFFOLD));
        claims.push(Claim::new(text, Unit::TIMES, Says::Above(1.0), estimate).sized(published));
    }
    claims
}

fn finding(series: Vec<Series>, rounds: usize) -> Finding {
    let title = format!("Rounds to {:.0} % accuracy, mean over the seeds", TARGET * 100.0);
    let mut table = Table::new(&title, &["data", "method", "rate", "rounds"]);
    for one in &series {
        let sample = counted(one);
        let is_cut = one.trials.iter().any(|trial| trial.rounds_to(TARGET).is_none());
        let mean = sample.mean().unwrap_or_default();
        table.rows.push(vec![
            one.arm.group.clone(),
            one.arm.name.clone(),
            one.arm.tuned.clone(),
            format!("{}{mean:.0}", if is_cut { "more than " } else { "" }),
        ]);
    }
    Finding {
        name: "scaffold",
        title: "SCAFFOLD: control variates against drift",
        source: "Karimireddy et al. 2020, \"SCAFFOLD: stochastic controlled averaging for federated learning\", table 3 (EMNIST, \
                 logistic regression).",
        setting: format!(
            "Here: the 1,797 digits and logistic regression, {CLIENTS} clients, {COHORT} drawn a round, at most {rounds} \
             rounds, {STEPS_PER_EPOCH} local steps per epoch. With 0 % similarity, each client has one shard of the sorted digits; \
             with 10 %, a tenth of the digits is dealt at random first. The local rate is tuned for each method and cell."
        ),
        target: Some(TARGET),
        claims: claims(&series),
        tables: vec![table],
        notes: Vec::new(),
        plot: Plot {
            x: "round",
            y: "accuracy",
            is_share: true,
            panels: series
                .chunks(METHODS.len())
                .skip(EPOCHS.len() - 1)
                .step_by(EPOCHS.len())
                .map(|group| panel(group, Shows::Accuracy))
                .collect(),
            ..Plot::default()
        },
        series,
    }
}
