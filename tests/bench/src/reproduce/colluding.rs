//! Tests robust aggregation when hostile clients collude: they know the updates of each other.

use bytes::Bytes;
use serde_json::{Value, json};

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

const CLIENTS: u64 = 30;
/// The share of hostile clients, which every rule that needs it knows.
const SHARE: f64 = 0.2;
/// The threshold of centred clipping. It is about the norm of an honest delta at the end of training.
const NORM_MAX: f64 = 0.5;

/// The parameter of the Dirichlet partition. With clients that are more alike, most of these attacks do little.
const ALPHA: f64 = 0.3;

const MEAN: usize = 0;
const MEDIAN: usize = 1;
const TRIMMED: usize = 2;
const MULTI_KRUM: usize = 3;
const BULYAN: usize = 4;
const CLIPPING: usize = 6;
const MIXED: usize = 7;
const RULES: [&str; 8] = [
    "mean",
    "median",
    "trimmed mean",
    "multi-Krum",
    "Bulyan",
    "geometric median",
    "centred clipping",
    "centred clipping, mixed",
];

const ALIE_Z: f64 = 1.5;
/// A small ε hides among the updates. The large one turns the mean, whose bound is (30 − 6) / 6 = 4.
const EPSILONS: [f64; 2] = [0.5, 6.0];
const SIGN_FLIP_FACTOR: f64 = 5.0;
const HONEST: usize = 0;
const ALIE: usize = 1;
const ALIE_FAR: usize = 2;
const SMALL_PRODUCT: usize = 3;
const PRODUCT: usize = 4;
const SIGN_FLIP: usize = 5;
const MIN_MAX: usize = 6;
const FANG: usize = 7;
const ATTACKS: [&str; 8] = [
    "no attack",
    "ALIE",
    "ALIE, z = 1.5",
    "inner product, ε = 0.5",
    "inner product, ε = 6",
    "sign flip",
    "min-max",
    "directed deviation",
];

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let (onnx, rounds) = (lab.digits_model()?, if lab.is_quick { 8 } else { 40 });
    let pairs = (0..ATTACKS.len()).flat_map(|attack| (0..RULES.len()).map(move |rule| (attack, rule)));
    let arms: Vec<Arm> =
        pairs.map(|(attack, rule)| arm(attack, rule, &onnx, rounds)).collect::<Result<_, _>>()?;
    Ok(finding(&Results(lab.run(arms)?), rounds))
}

fn aggregator(rule: usize) -> Value {
    match rule {
        MEAN => json!({ "kind": "weighted_mean" }),
        MEDIAN => json!({ "kind": "median" }),
        TRIMMED => json!({ "kind": "trimmed_mean", "trim_share": SHARE }),
        MULTI_KRUM => json!({ "kind": "multi_krum", "byzantine_share": SHARE }),
        BULYAN => json!({ "kind": "bulyan", "byzantine_share": SHARE }),
        CLIPPING | MIXED => json!({ "kind": "centred_clipping", "norm_max": NORM_MAX }),
        _ => json!({ "kind": "geometric_median" }),
    }
}

fn attack(kind: usize) -> Value {
    match kind {
        ALIE => json!({ "kind": "alie" }),
        ALIE_FAR => json!({ "kind": "alie", "z": ALIE_Z }),
        SMALL_PRODUCT => json!({ "kind": "inner_product", "epsilon": EPSILONS[0] }),
        PRODUCT => json!({ "kind": "inner_product", "epsilon": EPSILONS[1] }),
        SIGN_FLIP => json!({ "kind": "sign_flip", "factor": SIGN_FLIP_FACTOR }),
        MIN_MAX => json!({ "kind": "min_max" }),
        _ => json!({ "kind": "fang" }),
    }
}

fn arm(kind: usize, rule: usize, onnx: &Bytes, rounds: usize) -> Result<Arm, Failure> {
    let optimizer = json!({ "sgd": { "learning_rate": 0.1 } });
    let mut task = json!({
        "plan": { "loss": "softmax_cross_entropy", "optimizer": optimizer, "epochs": 2, "batch_size": 10 },
        "scheduling": { "kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0 },
        "aggregator": aggregator(rule),
    });
    if rule == MIXED {
        task["mixing"] = json!({ "byzantine_share": SHARE });
    }
    let mut world = json!({ "clients": CLIENTS, "partition": { "kind": "dirichlet", "alpha": ALPHA } });
    if kind != HONEST {
        world["adversary"] = json!({ "share": SHARE, "attack": attack(kind) });
    }
    Arm::new((ATTACKS[kind], RULES[rule]), task, world, onnx, rounds)
}

/// The results of all arms: every rule under the first attack, then under the next.
struct Results(Vec<Series>);

impl Results {
    fn of(&self, attack: usize, rule: usize) -> &Series {
        &self.0[attack * RULES.len() + rule]
    }

    fn accuracies(&self, attack: usize, rule: usize) -> Sample {
        self.of(attack, rule).sample(|trial| trial.late(Shows::Accuracy))
    }

    /// Claims something about the accuracy that a rule loses under an attack.
    fn loses(&self, attack: usize, rule: usize, says: Says, published: &str) -> Claim {
        let (honest, hostile) = (self.accuracies(HONEST, rule), self.accuracies(attack, rule));
        let lost = Estimate::difference(&honest, &hostile);
        let percent = |attack| self.of(attack, rule).late(Shows::Accuracy).percent();
        Claim::new(
            format!("{published}; here {}, {}", RULES[rule], ATTACKS[attack]),
            Unit::POINTS,
            says,
            lost,
        )
        .of_arms(format!("{} against {} without; lost", percent(attack), percent(HONEST)))
    }

    /// Claims that a rule is less accurate under one attack than under another.
    fn is_worse(&self, attack: usize, other: usize, rule: usize, published: &str) -> Claim {
        let difference = Estimate::difference(&self.accuracies(attack, rule), &self.accuracies(other, rule));
        let published = format!("{published}; here {}", RULES[rule]);
        Claim::new(published, Unit::POINTS, Says::Below(0.0), difference)
    }
}

/// The loss of accuracy up to which a rule is said to resist.
const POINTS: f64 = 0.1;

fn claims(results: &Results) -> Vec<Claim> {
    let mut claims = Vec::new();
    for rule in [MEAN, TRIMMED, MULTI_KRUM, BULYAN] {
        let published = "a small shift of a fifth of the updates lowers the accuracy under every rule (Baruch et al. 2019, \
                         with z = 1 on CIFAR-10)";
        claims.push(results.loses(ALIE_FAR, rule, Says::Above(0.0), published));
    }
    let published = "f of n clients turn the mean if ε is above (n − f) / f, here 4 (Xie et al. 2020)";
    claims.push(results.loses(PRODUCT, MEAN, Says::Above(POINTS), published));
    for rule in [MEDIAN, MULTI_KRUM] {
        let published = "an ε that is too small to turn the mean does harm to the median and to Krum (Xie et al. 2020; there Krum, \
                         not multi-Krum)";
        claims.push(results.loses(SMALL_PRODUCT, rule, Says::Above(0.0), published));
    }
    for rule in [MEDIAN, TRIMMED, MULTI_KRUM, BULYAN] {
        let published =
            "min-max does more harm than ALIE with the z of its paper (Shejwalkar and Houmansadr 2021)";
        claims.push(results.is_worse(MIN_MAX, ALIE, rule, published));
    }
    for rule in [MEDIAN, TRIMMED] {
        let published =
            "a directed deviation raises the error of the median and the trimmed mean (Fang et al. 2020)";
        claims.push(results.loses(FANG, rule, Says::Above(0.0), published));
    }
    for (attack, rule) in [(ALIE_FAR, CLIPPING), (PRODUCT, CLIPPING), (ALIE_FAR, MIXED)] {
        let published = match rule {
            CLIPPING => "centred clipping resists (Karimireddy et al. 2021; there with momentum)",
            _ => "a rule resists with mixing, where clients hold different data (Allouah et al. 2023)",
        };
        claims.push(results.loses(attack, rule, Says::Below(POINTS), published));
    }
    claims
}

fn table(results: &Results) -> Table {
    let mut table = Table::new("Accuracy, mean over the last tenth of the rounds", &["rule"]);
    table.heading.extend(ATTACKS.map(str::to_owned));
    for (rule, name) in RULES.iter().enumerate() {
        let mut row = vec![(*name).to_owned()];
        row.extend((0..ATTACKS.len()).map(|attack| results.of(attack, rule).late(Shows::Accuracy).percent()));
        table.rows.push(row);
    }
    table
}

fn finding(results: &Results, rounds: usize) -> Finding {
    let lines = |attack: usize| {
        let rules = 0..RULES.len();
        rules.map(|rule| results.of(attack, rule).line(Over::Rounds, Shows::Accuracy)).collect()
    };
    let panels = [ALIE_FAR, SMALL_PRODUCT, SIGN_FLIP, MIN_MAX];
    Finding {
        name: "colluding",
        title: "Robust rules against clients that collude",
        source: "Baruch et al. 2019, \"A little is enough: circumventing defenses for distributed learning\" (ALIE); Xie et \
                 al. 2020, \"Fall of empires: breaking Byzantine-tolerant SGD by inner product manipulation\"; Shejwalkar and \
                 Houmansadr 2021, \"Manipulating the Byzantine: optimizing model poisoning attacks and defenses for federated \
                 learning\" (min-max); Fang et al. 2020, \"Local model poisoning attacks to Byzantine-robust federated \
                 learning\" (directed deviation); Karimireddy et al. 2021, \"Learning from history for Byzantine robust \
                 optimization\"; Allouah et al. 2023, \"Fixing by mixing: a recipe for optimal Byzantine ML under \
                 heterogeneity\".",
        setting: format!(
            "Here: the digits, dealt by Dirichlet({ALPHA}) to {CLIENTS} clients that all take part in each of {rounds} rounds; \
             {:.0} % of them hostile, as trimmed mean, multi-Krum, Bulyan and mixing are told. The hostile clients know only \
             each other's honest updates. ALIE has the z of its paper, 0.21 for these clients, and then z = {ALIE_Z}; the \
             inner product has ε = {small} and {large}; the sign flip, without collusion, uploads −{SIGN_FLIP_FACTOR}·Δ; min-max goes \
             along the standard deviation; the directed deviation draws 3 to 4 standard deviations. Centred clipping has \
             τ = {NORM_MAX}, and its mixed form averages the 80 % of the updates that are closest to each. A rule resists if \
             it loses no more than {:.0} points of its own accuracy without an attack.",
            SHARE * 100.0,
            POINTS * 100.0,
            small = EPSILONS[0],
            large = EPSILONS[1],
        ),
        target: None,
        claims: claims(results),
        tables: vec![table(results)],
        notes: Vec::new(),
        plot: Plot {
            x: "round",
            y: "accuracy, %",
            is_share: true,
            panels: panels
                .map(|attack| Panel { title: ATTACKS[attack].to_owned(), lines: lines(attack) })
                .into(),
            ..Plot::default()
        },
        series: results.0.clone(),
    }
}
