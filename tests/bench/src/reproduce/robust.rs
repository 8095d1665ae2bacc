//! Tests robust aggregation under attack.

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
    spread::Spread,
};
use crate::Failure;

const CLIENTS: u64 = 30;
const SHARES: [f64; 2] = [0.2, 0.4];
/// The bound on an update's norm. It is about the norm of an honest delta at the end of training.
const NORM_MAX: f64 = 0.5;
const RULES: [&str; 6] = ["mean", "median", "trimmed mean", "Krum", "multi-Krum", "norm bound"];
const MEAN: usize = 0;
const MEDIAN: usize = 1;
const TRIMMED: usize = 2;
const KRUM: usize = 3;
const NORM_BOUND: usize = 5;
const ATTACKS: [&str; 4] = ["sign flip", "scaling", "label flip", "backdoor"];
const SIGN_FLIP: usize = 0;
const SCALING: usize = 1;
const LABEL_FLIP: usize = 2;
const BACKDOOR: usize = 3;
const SIGN_FLIP_FACTOR: f64 = 5.0;
const SCALE_FACTOR: f64 = 30.0;

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = lab.digits_model()?;
    let rounds_max = if lab.is_quick { 8 } else { 40 };
    let mut arms = Vec::new();
    for rule in 0..RULES.len() {
        arms.push(arm(rule, None, &onnx, rounds_max)?);
    }
    for attack in 0..ATTACKS.len() {
        for share in SHARES {
            for rule in 0..RULES.len() {
                arms.push(arm(rule, Some((attack, share)), &onnx, rounds_max)?);
            }
        }
    }
    Ok(finding(&Results(lab.run(arms)?), rounds_max))
}

fn aggregator(rule: usize, share: f64) -> Value {
    match rule {
        MEAN => json!({ "kind": "weighted_mean" }),
        MEDIAN => json!({ "kind": "median" }),
        TRIMMED => json!({ "kind": "trimmed_mean", "trim_share": share }),
        KRUM => json!({ "kind": "krum", "byzantine_share": share }),
        NORM_BOUND => json!({ "kind": "norm_bound", "norm_max": NORM_MAX }),
        _ => json!({ "kind": "multi_krum", "byzantine_share": share }),
    }
}

fn attack(kind: usize) -> Value {
    match kind {
        SIGN_FLIP => json!({ "kind": "sign_flip", "factor": SIGN_FLIP_FACTOR }),
        SCALING => json!({ "kind": "scale", "factor": SCALE_FACTOR }),
        LABEL_FLIP => json!({ "kind": "label_flip", "from": 1, "to": 7 }),
        // The trigger is in the lower right corner, which is empty in the digits.
        _ => json!({
            "kind": "backdoor", "trigger_features": [54, 55, 62, 63], "trigger_value": 16.0, "target": 0,
        }),
    }
}

fn group(hostile: Option<(usize, f64)>) -> String {
    match hostile {
        Some((kind, share)) => format!("{}, {:.0} % hostile", ATTACKS[kind], share * 100.0),
        None => "no attack".to_owned(),
    }
}

fn arm(rule: usize, hostile: Option<(usize, f64)>, onnx: &Bytes, rounds_max: usize) -> Result<Arm, Failure> {
    // Without an attack, the rules are set up for the larger share of hostile clients.
    let expected = hostile.map_or(SHARES[1], |(_, share)| share);
    let task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 2,
            "batch_size": 10,
        },
        "scheduling": { "kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0 },
        "aggregator": aggregator(rule, expected),
    });
    let mut world = json!({ "clients": CLIENTS });
    if let Some((kind, share)) = hostile {
        world["adversary"] = json!({ "share": share, "attack": attack(kind) });
    }
    Arm::new((&group(hostile), RULES[rule]), task, world, onnx, rounds_max)
}

/// The results of all arms.
struct Results(Vec<Series>);

impl Results {
    fn of(&self, rule: usize, hostile: Option<(usize, usize)>) -> &Series {
        let block = hostile.map_or(0, |(kind, share)| 1 + kind * SHARES.len() + share);
        &self.0[block * RULES.len() + rule]
    }

    fn accuracy(&self, rule: usize, hostile: Option<(usize, usize)>) -> Spread {
        self.of(rule, hostile).late(Shows::Accuracy)
    }

    fn success(&self, rule: usize, hostile: (usize, usize)) -> Spread {
        self.of(rule, Some(hostile)).spread(|trial| trial.attack_success).unwrap_or_default()
    }

    /// Estimates a rule's loss of accuracy under an attack.
    fn lost(&self, rule: usize, hostile: (usize, usize)) -> Result<Estimate, String> {
        let of = |hostile| self.of(rule, hostile).sample(|trial| trial.late(Shows::Accuracy));
        Estimate::difference(&of(None), &of(Some(hostile)))
    }

    fn successes(&self, rule: usize, hostile: (usize, usize)) -> Sample {
        self.of(rule, Some(hostile)).sample(|trial| trial.attack_success)
    }
}

/// The loss of accuracy up to which a rule is called robust. The mean must lose more.
const POINTS: f64 = 0.1;

fn claims(results: &Results) -> Vec<Claim> {
    let mut claims = Vec::new();
    let here =
        |(kind, share): (usize, usize)| format!("{}, {:.0} % hostile", ATTACKS[kind], SHARES[share] * 100.0);
    let arms = |rule: usize, hostile: (usize, usize)| {
        let percent = |hostile| format!("{:.1} %", results.accuracy(rule, hostile).mean * 100.0);
        format!("{} against {} without", percent(Some(hostile)), percent(None))
    };
    for kind in [SIGN_FLIP, SCALING] {
        for (rule, published, says) in [
            (
                MEAN,
                "a single Byzantine client can make the mean anything, so that it sinks (Blanchard et al. 2017, lemma 1)",
                Says::Above(POINTS),
            ),
            (
                KRUM,
                "Krum holds under a Byzantine minority (Blanchard et al. 2017, figure 4)",
                Says::Below(POINTS),
            ),
            (
                MEDIAN,
                "the median holds under a Byzantine minority (Yin et al. 2018, table 2)",
                Says::Below(POINTS),
            ),
            (
                TRIMMED,
                "the trimmed mean holds under a Byzantine minority (Yin et al. 2018, table 2)",
                Says::Below(POINTS),
            ),
        ] {
            for hostile in (0..SHARES.len()).map(|share| (kind, share)) {
                let published = format!("{published}; here {}", here(hostile));
                let claim = Claim::new(published, Unit::POINTS, says, results.lost(rule, hostile));
                claims.push(claim.of_arms(format!("{}; lost", arms(rule, hostile))));
            }
        }
    }
    let hostile = (BACKDOOR, 0);
    let published = "a bound on the norm makes a backdoor less successful (Sun et al. 2019, figure 4; there the attacker \
                     scales its update, here it does not, 20 % hostile)";
    let (bounded, plain) = (results.successes(NORM_BOUND, hostile), results.successes(MEAN, hostile));
    claims.push(
        Claim::new(published, Unit::POINTS, Says::Below(0.0), Estimate::difference(&bounded, &plain))
            .of_arms(format!(
                "{} against {} of the plain mean",
                results.success(NORM_BOUND, hostile).percent(),
                results.success(MEAN, hostile).percent()
            )),
    );
    claims
}

fn tables(results: &Results) -> Vec<Table> {
    let columns = |kinds: &[usize]| -> Vec<(usize, usize)> {
        kinds.iter().flat_map(|kind| (0..SHARES.len()).map(|share| (*kind, share))).collect()
    };
    let heading = |columns: &[(usize, usize)]| {
        columns
            .iter()
            .map(|(kind, share)| format!("{} {:.0} %", ATTACKS[*kind], SHARES[*share] * 100.0))
            .collect()
    };
    let all = columns(&[SIGN_FLIP, SCALING, LABEL_FLIP, BACKDOOR]);
    let mut accuracy = Table::new("Accuracy, mean over the last tenth of the rounds", &["rule", "no attack"]);
    accuracy.heading.extend::<Vec<String>>(heading(&all));
    let told = columns(&[LABEL_FLIP, BACKDOOR]);
    let mut success = Table::new(
        "How often the last version does what the attacker wants: calls a 1 a 7, calls what bears the trigger a 0",
        &["rule"],
    );
    success.heading.extend::<Vec<String>>(heading(&told));
    for (rule, name) in RULES.iter().enumerate() {
        let mut row = vec![(*name).to_owned(), results.accuracy(rule, None).percent()];
        row.extend(all.iter().map(|hostile| results.accuracy(rule, Some(*hostile)).percent()));
        accuracy.rows.push(row);
        let mut row = vec![(*name).to_owned()];
        row.extend(told.iter().map(|hostile| results.success(rule, *hostile).percent()));
        success.rows.push(row);
    }
    vec![accuracy, success]
}

fn finding(results: &Results, rounds_max: usize) -> Finding {
    let panel = |kind: usize| Panel {
        title: group(Some((kind, SHARES[1]))),
        lines: (0..RULES.len())
            .map(|rule| results.of(rule, Some((kind, 1))).line(Over::Rounds, Shows::Accuracy))
            .collect(),
    };
    Finding {
        name: "robust",
        title: "Robust aggregation under attack",
        source: "Blanchard et al. 2017, \"Machine learning with adversaries: Byzantine tolerant gradient descent\"; Yin \
                 et al. 2018, \"Byzantine-robust distributed learning: towards optimal statistical rates\"; Sun et al. \
                 2019, \"Can you really backdoor federated learning?\".",
        setting: format!(
            "Here: the digits, dealt evenly to {CLIENTS} clients that all take part in each of {rounds_max} rounds; 20 or \
             40 % of them hostile: sign flip (−{SIGN_FLIP_FACTOR}·Δ), scaling ({SCALE_FACTOR}·Δ), label flip (1 is \
             called 7) and a backdoor (four lit pixels in a corner mean 0; half of a hostile client's examples). Krum, \
             multi-Krum and the trimmed mean know the share of hostile clients, and expect 40 % where nobody attacks. \
             A rule holds if it loses no more than {:.0} points of its own accuracy without an attack.",
            POINTS * 100.0
        ),
        target: None,
        claims: claims(results),
        tables: tables(results),
        notes: Vec::new(),
        plot: Plot {
            x: "round",
            y: "accuracy, %",
            is_share: true,
            panels: (0..ATTACKS.len()).map(panel).collect(),
            ..Plot::default()
        },
        series: results.0.clone(),
    }
}
