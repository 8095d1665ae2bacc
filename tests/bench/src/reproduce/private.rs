//! Accuracy against epsilon.

use bytes::Bytes;
use folkmoot_engine::onnx::build::mlp;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    finding::{Claim, Finding, Table},
    lab::Lab,
    plot::{Panel, Plot},
    series::{Over, Series, Shows},
};
use crate::Failure;

const FEATURES: usize = 784;
const CLASSES: usize = 10;
const EXAMPLES_PER_CLIENT: u64 = 10;
const DELTA: f64 = 1e-6;
const EPSILONS: [f64; 4] = [1.0, 2.0, 8.0, 16.0];
/// Of fixed clipping, the best of these.
const NORMS: [f64; 3] = [0.3, 1.0, 3.0];
const GROUP: &str = "Clients of an MNIST-shaped set";

/// How large the population is.
struct Size {
    clients: u64,
    cohort: u64,
    rounds: usize,
    /// Versions that a client's updates may be in.
    participations: u64,
}

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = Bytes::from(mlp(&[FEATURES, CLASSES], 1));
    let size = match lab.is_quick {
        true => Size { clients: 400, cohort: 100, rounds: 8, participations: 4 },
        false => Size { clients: 10_000, cohort: 1_000, rounds: 30, participations: 6 },
    };
    let mut families = vec![vec![arm("not private", json!({ "kind": "none" }), &onnx, &size)?]];
    for epsilon in EPSILONS {
        let fixed = |norm: f64| {
            let clipping = json!({ "kind": "fixed", "norm": norm });
            let name = format!("epsilon {epsilon}, fixed");
            Ok(arm(&name, privacy(epsilon, clipping, &size), &onnx, &size)?.tuned(format!("norm {norm}")))
        };
        families.push(NORMS.into_iter().map(fixed).collect::<Result<_, Failure>>()?);
        let clipping = json!({ "kind": "adaptive" });
        let name = format!("epsilon {epsilon}, adaptive");
        families.push(vec![arm(&name, privacy(epsilon, clipping, &size), &onnx, &size)?]);
    }
    let series = lab.run_best(families, |trial| trial.late(Shows::Accuracy))?;
    Ok(finding(series, &size))
}

fn privacy(epsilon: f64, clipping: Value, size: &Size) -> Value {
    json!({
        "kind": "central", "epsilon": epsilon, "delta": DELTA, "participations_max": size.participations,
        "clipping": clipping,
    })
}

fn arm(name: &str, privacy: Value, onnx: &Bytes, size: &Size) -> Result<Arm, Failure> {
    let task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.05 } },
            "epochs": 5,
            "batch_size": 10,
        },
        "scheduling": { "kind": "synchronous", "report_goal": size.cohort, "over_selection_factor": 1.0 },
        "aggregator": { "kind": "uniform_mean" },
        "privacy": privacy,
    });
    let examples = size.clients * EXAMPLES_PER_CLIENT;
    let world = json!({
        "clients": size.clients,
        "synthetic": { "kind": "mnist_like", "examples": examples, "clients": size.clients },
    });
    Arm::new((GROUP, name), task, world, onnx, size.rounds)
}

fn finding(series: Vec<Series>, size: &Size) -> Finding {
    let accuracy: Vec<f64> = series.iter().map(|one| one.late(Shows::Accuracy).mean).collect();
    let (plain, private) = (accuracy[0], &accuracy[1..]);
    let fixed: Vec<f64> = private.iter().copied().step_by(2).collect();
    let adaptive: Vec<f64> = private.iter().copied().skip(1).step_by(2).collect();
    let percent = |values: &[f64]| {
        values.iter().map(|value| format!("{:.1} %", value * 100.0)).collect::<Vec<String>>().join(", ")
    };
    let rises = |values: &[f64]| values.windows(2).all(|pair| pair[0] <= pair[1] + 0.01);
    let claims = vec![
        Claim {
            published: "more budget, more accuracy; at a large one little is lost (McMahan et al. 2018, section 3)"
                .into(),
            ours: format!("{}; not private {}", percent(&fixed), percent(&[plain])),
            holds: rises(&fixed) && plain - fixed[fixed.len() - 1] < 0.05,
        },
        Claim {
            published: "clipping to the median does as well as the best fixed norm, without its tuning (Andrew et al. 2021, section 3)"
                .into(),
            ours: format!("{} against {}", percent(&adaptive), percent(&fixed)),
            holds: adaptive.iter().zip(&fixed).all(|(adaptive, fixed)| fixed - adaptive < 0.05),
        },
    ];
    let mut table = Table::new(
        &format!("After {} versions, at delta {DELTA}", size.rounds),
        &["method", "tuned", "noise multiplier", "accuracy at the end"],
    );
    for one in &series {
        let terms = one
            .arm
            .task
            .privacy
            .central()
            .and_then(|central| folkmoot_coordinator::privacy::Terms::of(central, &one.arm.task).ok());
        let multiplier = terms.map_or("–".to_owned(), |terms| format!("{:.2}", terms.update_multiplier));
        let accuracy = one.late(Shows::Accuracy).percent();
        table.rows.push(vec![one.arm.name.clone(), one.arm.tuned.clone(), multiplier, accuracy]);
    }
    let lines = series.iter().map(|one| one.line(Over::Rounds, Shows::Accuracy)).collect();
    Finding {
        name: "private",
        title: "What privacy costs",
        source: "McMahan et al. 2018, \"Learning differentially private recurrent language models\"; Andrew et al. 2021, \
                 \"Differentially private learning with adaptive clipping\".",
        setting: format!(
            "Here: {} clients with {EXAMPLES_PER_CLIENT} examples each of an MNIST-shaped made set, logistic regression \
             ({FEATURES} x {CLASSES}), {} drawn a round for {} versions; nothing is claimed of sampling, a client's \
             updates are in at most {} versions. The noise comes from the operating system, so a run cannot be repeated \
             bit for bit. Fixed clipping has the best of the norms {NORMS:?}, chosen with a seed that is not measured; \
             what that choice would cost of the budget is not counted, adaptive clipping needs none.",
            size.clients, size.cohort, size.rounds, size.participations
        ),
        target: None,
        claims,
        tables: vec![table],
        notes: Vec::new(),
        plot: Plot {
            x: "version",
            y: "accuracy, %",
            is_share: true,
            panels: vec![Panel { title: GROUP.to_owned(), lines }],
        },
        series,
    }
}
