//! Compares accuracies with the numbers of bytes that clients send.

use bytes::Bytes;
use folkmoot_engine::onnx::build::mlp;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample},
    finding::{Finding, Table},
    lab::Lab,
    plot::{Line, Panel, Plot},
    series::{Series, Shows, Trial},
    spread::Spread,
};
use crate::Failure;

const CLIENTS: u64 = 20;
const COHORT: u64 = 10;
const DENSE: &str = "none";
/// Our target for the reduction of bytes, as a factor.
const AIM: f64 = 30.0;
/// The accepted loss of accuracy: one percentage point.
const POINT: f64 = 0.01;
/// Every codec with its useful settings, by family. A setting may include further rules of a recipe after the codec.
const FAMILIES: [(&str, &[&str]); 13] = [
    ("floats", &["bf16", "fp16"]),
    ("fixed", &["fixed:8", "fixed:4,rotated=true"]),
    ("qsgd", &["qsgd:15", "qsgd:3"]),
    ("ternary", &["ternary"]),
    ("one_bit", &["one_bit"]),
    ("sign", &["sign"]),
    ("random_k", &["random_k:0.25", "random_k:0.1"]),
    ("top_k", &["top_k:0.1", "top_k:0.03", "top_k:0.01", "top_k:0.01,half_values=true"]),
    ("threshold", &["threshold:0.01"]),
    ("deep_gradient", &["deep_gradient:0.01,momentum=0.0"]),
    ("low_rank", &["low_rank:4", "low_rank:1"]),
    ("sufficient_factors", &["sufficient_factors:8"]),
    ("eden", &["eden:4", "eden:2", "eden:1"]),
];

/// Rounds with few examples, the case for which sufficient factors are designed. A round with one step is federated
/// SGD.
const FEW: [(&str, u32, u32, &[&str]); 2] = [
    (
        "The perceptron, one step on eight examples a round",
        1,
        8,
        &["eden:4", "low_rank:4", "sufficient_factors:8", "sufficient_factors:8,error=0.0"],
    ),
    (
        "The perceptron, four steps on four examples a round",
        4,
        4,
        &["eden:4", "sufficient_factors:16", "sufficient_factors:16,error=0.0"],
    ),
];
const FACTORS: &str = "sufficient_factors";

/// A model and how clients train it.
struct Subject {
    group: &'static str,
    onnx: Bytes,
    /// The number of steps and the batch size; `None` for two epochs with batches of ten.
    few: Option<(u32, u32)>,
    codecs: Vec<&'static str>,
}

impl Subject {
    fn passes(group: &'static str, onnx: Bytes) -> Self {
        let codecs = FAMILIES.iter().flat_map(|family| family.1.iter().copied()).collect();
        Self { group, onnx, few: None, codecs }
    }
}

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let perceptron = Bytes::from(mlp(&[64, 256, 256, 10], 1));
    let mut subjects = vec![
        Subject::passes("A perceptron 64-256-256-10", perceptron.clone()),
        Subject::passes("A CNN", lab.digits_cnn()?),
    ];
    subjects.extend(FEW.map(|(group, steps, batch, codecs)| Subject {
        group,
        onnx: perceptron.clone(),
        few: Some((steps, batch)),
        codecs: codecs.to_vec(),
    }));
    let rounds = if lab.is_quick { 8 } else { 80 };
    let mut arms = Vec::new();
    for subject in &subjects {
        for codec in [DENSE].into_iter().chain(subject.codecs.iter().copied()) {
            arms.push(Arm::new(
                (subject.group, codec),
                task(codec, subject.few),
                json!({ "clients": CLIENTS }),
                &subject.onnx,
                rounds,
            )?);
        }
    }
    Ok(finding(lab.run(arms)?, &subjects, rounds))
}

fn task(codec: &str, few: Option<(u32, u32)>) -> Value {
    let mut task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.05 } },
            "epochs": 2,
            "batch_size": 10,
        },
        "scheduling": { "kind": "synchronous", "report_goal": COHORT, "over_selection_factor": 1.0 },
    });
    if let Some((steps, batch)) = few {
        task["plan"]["epochs"] = 1.into();
        task["plan"]["steps_max"] = steps.into();
        task["plan"]["batch_size"] = batch.into();
    }
    if codec != DENSE {
        task["compression"] = json!({ "codec": codec });
    }
    task
}

/// Returns the mean number of bytes of an accepted update.
fn bytes_of_an_update(trial: &Trial) -> Option<f64> {
    let sums = trial.rounds.iter().map(|row| (row.bytes_up as f64, row.reported as f64));
    let (bytes, updates) = sums.fold((0.0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    (updates > 0.0).then(|| bytes / updates)
}

/// The result of a codec, compared with uncompressed updates.
struct Outcome {
    codec: String,
    accuracy: Spread,
    /// The loss of accuracy relative to float32 with the same seed.
    lost: Sample,
    bytes: f64,
    times_fewer: f64,
}

fn outcomes(series: &[Series], group: &str) -> Vec<Outcome> {
    let of_group: Vec<&Series> = series.iter().filter(|one| one.arm.group == group).collect();
    let Some(dense) = of_group.iter().find(|one| one.arm.name == DENSE) else { return Vec::new() };
    let bytes = |one: &Series| one.spread(bytes_of_an_update).unwrap_or_default().mean;
    let outcome = |one: &&Series| {
        let pairs = one.trials.iter().zip(&dense.trials);
        let lost = pairs
            .filter_map(|(trial, dense)| Some(dense.late(Shows::Accuracy)? - trial.late(Shows::Accuracy)?));
        Outcome {
            codec: one.arm.name.clone(),
            accuracy: one.late(Shows::Accuracy),
            lost: Sample { name: one.arm.name.clone(), values: lost.collect(), seeds: one.trials.len() },
            bytes: bytes(one),
            times_fewer: bytes(dense) / bytes(one),
        }
    };
    of_group.iter().map(outcome).collect()
}

fn finding(series: Vec<Series>, subjects: &[Subject], rounds: usize) -> Finding {
    let (mut claims, mut tables, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    for subject in subjects {
        let outcomes = outcomes(&series, subject.group);
        tables.push(table(subject.group, &outcomes));
        if subject.few.is_some() {
            claims.extend(claims_of_factors(subject.group, &outcomes));
        } else {
            claims.extend(claims_of(subject.group, &outcomes));
            panels.push(Panel { title: subject.group.to_owned(), lines: lines(&outcomes) });
        }
    }
    Finding {
        name: "compressed",
        title: "Few bytes: accuracy against what clients send",
        source: "Alistarh et al. 2017 (QSGD); Wen et al. 2017 (TernGrad); Seide et al. 2014 (1-bit SGD); Karimireddy et al. 2019 \
                 (error feedback); Lin et al. 2018 (deep gradient compression); Vogels et al. 2019 (PowerSGD); Xie et al. 2014 \
                 and Zhang et al. 2017 (sufficient factors); Vargaftik et al. 2021 and 2022 (DRIVE, EDEN).",
        setting: format!(
            "Here: the digits, {CLIENTS} clients, {COHORT} of them a round for {rounds} rounds, two passes of batches of ten; \
             where a group says so, a few steps instead, as sufficient factors are for. The bytes are those of whole \
             updates, headers and the tensors that stay float32 included, and the accuracy is the mean of the last tenth of the rounds. A loss is against float32 with the same seed."
        ),
        target: None,
        claims,
        tables,
        notes: Vec::new(),
        plot: Plot {
            x: "times fewer bytes than float32",
            y: "accuracy, %",
            is_share: true,
            x_is_doubling: true,
            panels,
        },
        series,
    }
}

/// Returns the claims about sufficient factors. They are for rounds whose delta is a sum of few outer products.
fn claims_of_factors(group: &str, outcomes: &[Outcome]) -> Vec<Claim> {
    let factors = outcomes.iter().filter(|one| one.codec.starts_with(FACTORS));
    let claim = |one: &Outcome| {
        let published = format!(
            "{group}: a sum of outer products is sent as its factors, without loss (Xie et al. 2014); here `{}`",
            one.codec
        );
        let claim = Claim::new(published, Unit::POINTS, Says::Below(POINT), Estimate::mean(&one.lost));
        claim.of_arms(format!("{:.1} times fewer bytes; lost", one.times_fewer))
    };
    factors.map(claim).collect()
}

/// Returns a claim for every codec that reaches the target. A claim only for the best codec would be biased.
fn claims_of(group: &str, outcomes: &[Outcome]) -> Vec<Claim> {
    let lost = |published: String, one: &Outcome| {
        let claim = Claim::new(published, Unit::POINTS, Says::Below(POINT), Estimate::mean(&one.lost));
        claim.of_arms(format!("{:.1} times fewer bytes; lost", one.times_fewer))
    };
    let aim = |codec: &str| {
        format!(
            "{group}: {AIM:.0} times fewer bytes at a loss of at most one point (our aim); here `{codec}`"
        )
    };
    let few: Vec<&Outcome> = outcomes.iter().filter(|one| one.times_fewer >= AIM).collect();
    let mut claims: Vec<Claim> = few.iter().map(|one| lost(aim(&one.codec), one)).collect();
    if few.is_empty() {
        let none = Err("no codec sends so few bytes".to_owned());
        claims.push(Claim::new(aim("any codec"), Unit::POINTS, Says::Below(POINT), none));
    }
    let top = outcomes.iter().find(|outcome| outcome.codec == "top_k:0.01");
    claims.extend(top.map(|one| {
        lost(
            format!(
                "{group}: the largest hundredth, with error feedback, is within a point of all of them (Lin et al. 2018); here \
                 `top_k:0.01`"
            ),
            one,
        )
    }));
    claims
}

fn table(group: &str, outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(
        group,
        &["codec", "bytes of an update", "times fewer", "accuracy at the end", "points lost"],
    );
    for one in outcomes {
        table.rows.push(vec![
            format!("`{}`", one.codec),
            format!("{:.0}", one.bytes),
            format!("{:.1}", one.times_fewer),
            one.accuracy.percent(),
            Spread::of(&one.lost.values).map_or("–".to_owned(), |lost| lost.points()),
        ]);
    }
    table
}

/// Returns one line of the plot for each family. A line connects the family's settings.
fn lines(outcomes: &[Outcome]) -> Vec<Line> {
    let point = |codec: &&str| {
        let one = outcomes.iter().find(|outcome| outcome.codec == **codec)?;
        Some((one.times_fewer.log2(), one.accuracy.mean, one.accuracy.half_width().unwrap_or(0.0)))
    };
    let line = |(name, codecs): &(&str, &[&str])| Line {
        name: (*name).to_owned(),
        points: codecs.iter().filter_map(&point).collect(),
    };
    let dense = Line { name: "float32".to_owned(), points: point(&DENSE).into_iter().collect() };
    std::iter::once(dense).chain(FAMILIES.iter().map(line)).collect()
}
