//! Compares accuracies at different epsilons.

use bytes::Bytes;
use folkmoot_coordinator::privacy::Terms;
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

const FEATURES: usize = 784;
const CLASSES: usize = 10;
const EXAMPLES_PER_CLIENT: u64 = 10;
const DELTA: f64 = 1e-6;
const EPSILONS: [f64; 4] = [1.0, 2.0, 8.0, 16.0];
/// The clipping norms that fixed clipping tries. The best one is used.
const NORMS: [f64; 3] = [0.3, 1.0, 3.0];
const DIGITS: &str = "The digits";
const MANY: &str = "Clients of an MNIST-shaped set";
/// The loss of accuracy up to which a loss is called little.
const LITTLE: f64 = 0.05;
/// The range of norm / median in which the norm is said to track the median.
const TRACKING: (f64, f64) = (0.75, 1.34);
const NOT_PRIVATE: &str = "not private";
/// The privacy mechanisms. All except `adaptive` clip to a fixed norm.
const METHODS: [&str; 5] = ["independent", "adaptive", "tree", "blt", "local"];

/// A population and its rounds.
struct Size {
    group: &'static str,
    clients: u64,
    cohort: u64,
    rounds: usize,
    /// The maximum number of versions that include an update of one client.
    participations: u64,
    /// The minimum number of versions between two such versions, for mechanisms that need a separation.
    separation: u64,
}

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let size = |group, clients, cohort, rounds, participations, separation| Size {
        group,
        clients,
        cohort,
        rounds,
        participations,
        separation,
    };
    // The separation alone limits a client to as many participations as the limit, so all methods allow the same
    // number.
    let sizes = match lab.is_quick {
        true => [size(DIGITS, 60, 15, 8, 3, 3), size(MANY, 400, 100, 9, 3, 3)],
        false => [size(DIGITS, 100, 25, 30, 10, 3), size(MANY, 10_000, 1_000, 30, 5, 6)],
    };
    let mut families = Vec::new();
    for size in &sizes {
        let onnx = match size.group {
            DIGITS => lab.digits_model()?,
            _ => Bytes::from(mlp(&[FEATURES, CLASSES], 1)),
        };
        families.push(vec![arm(NOT_PRIVATE, json!({ "kind": "none" }), &onnx, size)?]);
        for (epsilon, method) in
            EPSILONS.into_iter().flat_map(|epsilon| METHODS.map(|method| (epsilon, method)))
        {
            let name = format!("epsilon {epsilon}, {method}");
            if method == "adaptive" {
                // If there are few reports, the noise on the count of short updates uses up the whole budget, and the
                // coordinator refuses the task.
                families.extend(
                    arm(&name, privacy(epsilon, method, 0.0, size), &onnx, size).ok().map(|one| vec![one]),
                );
                continue;
            }
            let fixed = |norm: f64| {
                Ok(arm(&name, privacy(epsilon, method, norm, size), &onnx, size)?
                    .tuned(format!("norm {norm}")))
            };
            families.push(NORMS.into_iter().map(fixed).collect::<Result<_, Failure>>()?);
        }
    }
    let series = lab.run_best(families, |trial| trial.late(Shows::Accuracy))?;
    Ok(finding(series, &sizes))
}

fn privacy(epsilon: f64, method: &str, norm: f64, size: &Size) -> Value {
    let mut privacy = json!({
        "kind": "central", "epsilon": epsilon, "delta": DELTA, "participations_max": size.participations,
        "clipping": { "kind": "fixed", "norm": norm },
    });
    match method {
        "adaptive" => privacy["clipping"] = json!({ "kind": "adaptive" }),
        "tree" | "blt" => privacy["noise"] = json!({ "kind": method, "separation": size.separation }),
        "local" => {
            return json!({
                "kind": "local", "epsilon": epsilon, "delta": DELTA, "participations_max": size.participations,
                "clipping_norm": norm,
            });
        }
        _ => {}
    }
    privacy
}

fn arm(name: &str, privacy: Value, onnx: &Bytes, size: &Size) -> Result<Arm, Failure> {
    let is_local = privacy["kind"] == "local";
    let mut task = json!({
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
    if is_local {
        // Noise that clients add needs a coarser grid with a larger range.
        task["grid"] = json!({ "fraction_bits": 20, "value_max": 4096.0, "weight_max": 1 });
    }
    let mut world = json!({ "clients": size.clients });
    if size.group == MANY {
        let examples = size.clients * EXAMPLES_PER_CLIENT;
        world["synthetic"] = json!({ "kind": "mnist_like", "examples": examples, "clients": size.clients });
    }
    Arm::new((size.group, name), task, world, onnx, size.rounds)
}

fn finding(series: Vec<Series>, sizes: &[Size]) -> Finding {
    let mut claims = Vec::new();
    let mut tables = Vec::new();
    let mut panels = Vec::new();
    for size in sizes {
        let of_group: Vec<&Series> = series.iter().filter(|one| one.arm.group == size.group).collect();
        claims.extend(Group { name: size.group, series: &of_group }.claims());
        tables.push(accuracies(size, &of_group));
        tables.push(norms(size, &of_group));
        panels.push(Panel { title: size.group.to_owned(), lines: lines(&of_group) });
    }
    let described = sizes.iter().map(|size| {
        format!(
            "{}: {} clients, {} drawn a round for {} versions, a client's updates in at most {} of them and, for tree and blt, \
             at least {} apart.",
            size.group, size.clients, size.cohort, size.rounds, size.participations, size.separation
        )
    });
    Finding {
        name: "private",
        title: "What privacy costs",
        source: "McMahan et al. 2018, \"Learning differentially private recurrent language models\"; Andrew et al. 2021, \
                 \"Differentially private learning with adaptive clipping\"; Kairouz et al. 2021, \"Practical and private \
                 (deep) learning without sampling or shuffling\"; McMahan, Xu and Zhang 2024, \"A hassle-free algorithm for \
                 private learning in practice: don't use tree aggregation, use BLTs\".",
        setting: format!(
            "Here: {} The MNIST-shaped set is made, with {EXAMPLES_PER_CLIENT} examples a client, for logistic regression \
             ({FEATURES} x {CLASSES}); the digits have a perceptron 64-64-10. Nothing is claimed of sampling. The noise comes \
             from the operating system, so a run cannot be repeated bit for bit. Fixed clipping has the best of the norms \
             {NORMS:?}, chosen with a seed that is not measured; what that choice would cost of the budget is not counted, \
             adaptive clipping needs none, but enough reports: with few of them the noise on its count leaves nothing, and the \
             task is refused.",
            described.collect::<Vec<String>>().join(" ")
        ),
        target: None,
        claims,
        tables,
        notes: Vec::new(),
        plot: Plot { x: "epsilon", y: "accuracy, %", is_share: true, x_is_doubling: true, panels },
        series,
    }
}

/// Returns one line for each method: the final accuracy at each epsilon. The line without privacy is constant.
fn lines(of_group: &[&Series]) -> Vec<Line> {
    let line = |name: &str, of: &dyn Fn(f64) -> String| {
        let point = |epsilon: f64| {
            let one = of_group.iter().find(|one| one.arm.name == of(epsilon))?.late(Shows::Accuracy);
            Some((epsilon.log2(), one.mean, one.half_width().unwrap_or(0.0)))
        };
        Line { name: name.to_owned(), points: EPSILONS.into_iter().filter_map(point).collect() }
    };
    let of_method = |method| line(method, &|epsilon| format!("epsilon {epsilon}, {method}"));
    std::iter::once(line(NOT_PRIVATE, &|_| NOT_PRIVATE.to_owned())).chain(METHODS.map(of_method)).collect()
}

/// The results of a group.
struct Group<'a> {
    name: &'static str,
    series: &'a [&'a Series],
}

impl Group<'_> {
    /// Returns the accuracies of an arm.
    ///
    /// # Errors
    /// If the coordinator refused the arm's task.
    fn accuracy(&self, arm: &str) -> Result<Sample, String> {
        let one = self.series.iter().find(|one| one.arm.name == arm);
        let one = one.ok_or_else(|| format!("{arm}: the coordinator refused the task"))?;
        Ok(one.sample(|trial| trial.late(Shows::Accuracy)))
    }

    fn claim(&self, published: &str, says: Says, one: &str, other: &str) -> Claim {
        let both = self.accuracy(one).and_then(|one| Ok((one, self.accuracy(other)?)));
        let arms = both.as_ref().ok().and_then(|(one, other)| {
            Some(format!("{:.1} % against {:.1} %", one.mean()? * 100.0, other.mean()? * 100.0))
        });
        let estimate = both.and_then(|(one, other)| Estimate::difference(&one, &other));
        let published = format!("{}: {published}; here {one} against {other}", self.name);
        Claim::new(published, Unit::POINTS, says, estimate).of_arms(arms.unwrap_or_default())
    }

    fn claims(&self) -> Vec<Claim> {
        let arm = |epsilon: f64, method: &str| format!("epsilon {epsilon}, {method}");
        let largest = EPSILONS[EPSILONS.len() - 1];
        let mut claims = Vec::new();
        for pair in EPSILONS.windows(2) {
            let published = "more budget, more accuracy (McMahan et al. 2018, section 3)";
            let [less, more] = [pair[0], pair[1]].map(|epsilon| arm(epsilon, "independent"));
            claims.push(self.claim(published, Says::Above(0.0), &more, &less));
        }
        claims.push(self.claim(
            "at a large budget little is lost (McMahan et al. 2018, section 3)",
            Says::Above(-LITTLE),
            &arm(largest, "independent"),
            NOT_PRIVATE,
        ));
        for (published, says, one, other) in [
            (
                "correlated noise does better than independent noise where no sampling is claimed (Kairouz et al. 2021, section 5)",
                Says::Above(0.0),
                "blt",
                "independent",
            ),
            ("BLT does better than a tree (McMahan, Xu and Zhang 2024)", Says::Above(0.0), "blt", "tree"),
            (
                "noise that every client adds itself costs more than that of a trusted coordinator (Kasiviswanathan et al. 2011)",
                Says::Below(0.0),
                "local",
                "independent",
            ),
            (
                "clipping to the median does as well as the best fixed norm, without its tuning (Andrew et al. 2021, section 3)",
                Says::Above(-LITTLE),
                "adaptive",
                "independent",
            ),
        ] {
            for epsilon in EPSILONS {
                claims.push(self.claim(published, says, &arm(epsilon, one), &arm(epsilon, other)));
            }
        }
        claims.push(self.tracking(&arm(largest, "adaptive")));
        claims
    }

    /// Compares the adaptive norm with the median norm of the updates, over the last third of the rounds.
    fn tracking(&self, arm: &str) -> Claim {
        let one = self.series.iter().find(|one| one.arm.name == arm);
        let one = one.ok_or_else(|| format!("{arm}: the coordinator refused the task"));
        let estimate = one.and_then(|one| Estimate::mean(&one.sample(tracked)));
        let published = format!(
            "{}: the adaptive norm tracks the median of the updates' norms (Andrew et al. 2021, figure 1); here {arm}, the last \
             third of the versions",
            self.name
        );
        Claim::new(published, Unit::TIMES, Says::Within(TRACKING.0, TRACKING.1), estimate).sized(1.0)
    }
}

/// Returns the mean ratio of the clipping norm to the median norm in the last third of the rounds.
fn tracked(trial: &Trial) -> Option<f64> {
    let late = trial.rounds[trial.rounds.len() * 2 / 3..].iter();
    let ratios = late.filter_map(|row| Some(row.clipping_norm? / row.update_norm_median?));
    Some(Spread::of(&ratios.collect::<Vec<f64>>())?.mean)
}

fn accuracies(size: &Size, of_group: &[&Series]) -> Table {
    let mut table = Table::new(
        &format!("{}: after {} versions, at delta {DELTA}", size.group, size.rounds),
        &["method", "tuned", "noise multiplier", "accuracy at the end"],
    );
    for one in of_group {
        let terms = Terms::of(&one.arm.task).ok().flatten();
        let multiplier = terms.map_or("–".to_owned(), |terms| format!("{:.2}", terms.update_multiplier));
        let accuracy = one.late(Shows::Accuracy).percent();
        table.rows.push(vec![one.arm.name.clone(), one.arm.tuned.clone(), multiplier, accuracy]);
    }
    table
}

/// Returns a table with the adaptive norm and the median at a few versions.
fn norms(size: &Size, of_group: &[&Series]) -> Table {
    let mut table = Table::new(
        &format!("{}: the adaptive norm beside the median of the updates' norms", size.group),
        &["method", "version", "clipping norm", "median norm"],
    );
    for one in of_group.iter().filter(|one| one.arm.name.ends_with("adaptive")) {
        for version in [1, size.rounds / 3, size.rounds * 2 / 3, size.rounds] {
            let rows = || one.trials.iter().filter_map(|trial| trial.rounds.get(version - 1));
            let show = |values: Vec<f64>| Spread::of(&values).map_or("–".to_owned(), |one| one.show(3));
            table.rows.push(vec![
                one.arm.name.clone(),
                version.to_string(),
                show(rows().filter_map(|row| row.clipping_norm).collect()),
                show(rows().filter_map(|row| row.update_norm_median).collect()),
            ]);
        }
    }
    table
}
