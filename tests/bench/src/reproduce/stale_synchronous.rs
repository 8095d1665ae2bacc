//! Tests bounded staleness with one slow client.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample},
    finding::{Finding, Table},
    lab::Lab,
    plot::{Panel, Plot},
    series::{Over, Series, Shows, Trial},
    spread::Spread,
};
use crate::Failure;

const CLIENTS: u64 = 10;
const SECONDS: f64 = 10.0;
const SLOWER: f64 = 6.0;
const TARGET: f64 = 0.93;
const RATES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
const SYNCHRONOUS: usize = 0;
const TIGHTEST: usize = 1;
const MIDDLE: usize = 2;
const WIDEST: usize = 3;
const DYNAMIC: usize = 4;
const PREFETCHED: usize = 5;
const ASYNCHRONOUS: usize = 6;
const ASKING: usize = 7;
const METHODS: [&str; 8] = [
    "synchronous",
    "SSP, s = 0",
    "SSP, s = 3",
    "SSP, s = 10",
    "DSSP, s = 3 to 10",
    "SSP, s = 3, prefetched",
    "asynchronous",
    "A-BSP",
];

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = lab.digits_model()?;
    let hours = if lab.is_quick { 0.1 } else { 0.5 };
    let mut families = Vec::new();
    for (method, name) in METHODS.iter().enumerate() {
        let arms = RATES.iter().map(|rate| arm(method, name, *rate, &onnx, hours));
        families.push(arms.collect::<Result<Vec<Arm>, Failure>>()?);
    }
    let score = |trial: &Trial| match trial.minutes_to(TARGET) {
        Some(minutes) => Some(-minutes),
        None => Some(trial.late(Shows::Accuracy)? - 1e6),
    };
    Ok(finding(lab.run_best(families, score)?, hours))
}

fn scheduling(method: usize) -> Value {
    let bounded = |bound: u64| json!({ "kind": "stale_synchronous", "bound": bound, "concurrency": CLIENTS });
    match method {
        SYNCHRONOUS => json!({ "kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0 }),
        TIGHTEST => bounded(0),
        MIDDLE | PREFETCHED => bounded(3),
        WIDEST => bounded(10),
        DYNAMIC => json!({
            "kind": "dynamic_stale_synchronous", "bound_min": 3, "bound_max": 10, "concurrency": CLIENTS,
        }),
        ASKING => json!({ "kind": "aggressive_synchronous", "cohort": CLIENTS, "ask_at": CLIENTS - 1 }),
        _ => json!({
            "kind": "asynchronous",
            "concurrency": CLIENTS,
            "staleness": { "weight": { "kind": "constant" } },
        }),
    }
}

fn arm(method: usize, name: &str, rate: f64, onnx: &Bytes, hours: f64) -> Result<Arm, Failure> {
    let is_flow = !matches!(method, SYNCHRONOUS | ASKING);
    // In a flow, every update is a commit. This server rate gives an update the same effect as in a mean over all
    // clients.
    let server_rate = if is_flow { 1.0 / CLIENTS as f64 } else { 1.0 };
    let task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": rate } },
            "epochs": 1,
            "batch_size": 32,
        },
        "scheduling": scheduling(method),
        "finalizer": { "kind": "fed_avg", "server_learning_rate": server_rate },
        "prefetch": method == PREFETCHED,
        "stop": { "hours": hours },
    });
    let world = json!({
        "clients": CLIENTS,
        "partition": { "kind": "dirichlet", "alpha": 1.0 },
        "devices": {
            "compute": {
                "kind": "log_normal",
                "median_seconds_per_example": 1e-9,
                "spread": 0.0,
                "round_spread": 0.0,
                "overhead_seconds": SECONDS,
            },
            "slow": { "clients": [0], "factor": SLOWER },
        },
        "arrival_seconds": 1.0,
        "hours_max": hours,
    });
    let arm = Arm::new(("One slow client", name), task, world, onnx, 100_000)?;
    Ok(arm.tuned(format!("{rate}")).evaluated_every(if is_flow { 5 } else { 1 }))
}

/// The figures of each method that are compared, for every seed.
struct Measured {
    trainings: Vec<Sample>,
    /// The share of the time that clients spent waiting.
    waiting: Vec<Sample>,
    minutes: Vec<Sample>,
    /// The mean staleness over the updates, in versions.
    staleness: Vec<Sample>,
    /// The number of megabytes that all clients fetched.
    megabytes: Vec<Sample>,
}

impl Measured {
    fn of(series: &[Series]) -> Self {
        let of = |value: fn(&Trial) -> Option<f64>| -> Vec<Sample> {
            series.iter().map(|one| one.sample(value)).collect()
        };
        let trainings = of(|trial| Some(trial.client_rounds as f64));
        Self {
            waiting: trainings.iter().map(|one| waiting(one, &trainings[ASYNCHRONOUS])).collect(),
            trainings,
            minutes: of(|trial| trial.minutes_to(TARGET)),
            staleness: of(Trial::staleness),
            megabytes: of(|trial| Some(trial.rounds.iter().map(|row| row.bytes_down as f64 / 1e6).sum())),
        }
    }

    fn claims(&self) -> Vec<Claim> {
        let Self { trainings, waiting, minutes, staleness, megabytes } = self;
        let mut claims = Vec::new();
        for [less, more] in [[TIGHTEST, MIDDLE], [MIDDLE, WIDEST]] {
            claims.push(Claim::new(
                format!("a larger bound means less waiting (Ho et al., figure 2): {}", over(more, less)),
                Unit::POINTS,
                Says::Below(0.0),
                Estimate::difference(&waiting[more], &waiting[less]),
            ));
        }
        for [less, more] in [[TIGHTEST, MIDDLE], [MIDDLE, WIDEST], [WIDEST, ASYNCHRONOUS]] {
            let published = "a larger bound means more staleness, below that of asynchronous training";
            claims.push(Claim::new(
                format!("{published} (Ho et al., section 4): {}", over(more, less)),
                Unit::VERSIONS,
                Says::Above(0.0),
                Estimate::difference(&staleness[more], &staleness[less]),
            ));
        }
        for bound in [MIDDLE, WIDEST] {
            let published =
                "SSP converges in less time than bulk-synchronous training (Ho et al., section 5)";
            claims.push(Claim::new(
                format!("{published}: {}", over(SYNCHRONOUS, bound)),
                Unit::TIMES,
                Says::Above(1.0),
                Estimate::factor(&minutes[SYNCHRONOUS], &minutes[bound]),
            ));
        }
        claims.push(Claim::new(
            format!(
                "DSSP waits less than SSP with its lower bound (Zhao et al., abstract): {}",
                over(DYNAMIC, MIDDLE)
            ),
            Unit::POINTS,
            Says::Below(0.0),
            Estimate::difference(&waiting[DYNAMIC], &waiting[MIDDLE]),
        ));
        claims.push(Claim::new(
            format!("… so its clients train more often: {}", over(DYNAMIC, MIDDLE)),
            Unit::TRAININGS,
            Says::Above(0.0),
            Estimate::difference(&trainings[DYNAMIC], &trainings[MIDDLE]),
        ));
        claims.push(
            Claim::new(
                format!(
                    "… as often as with the best bound of its range, without a search for it (Zhao et al., abstract): {}",
                    over(DYNAMIC, WIDEST)
                ),
                Unit::TIMES,
                Says::Above(0.99),
                Estimate::factor(&trainings[DYNAMIC], &trainings[WIDEST]),
            )
            .sized(1.0),
        );
        let refreshed = "clients that are sent fresh parameters before they ask train on less stale ones";
        claims.push(Claim::new(
            format!("{refreshed} (Dai et al., section 3): {}", over(PREFETCHED, MIDDLE)),
            Unit::VERSIONS,
            Says::Below(0.0),
            Estimate::difference(&staleness[PREFETCHED], &staleness[MIDDLE]),
        ));
        claims.push(Claim::new(
            format!("… for more bytes: {}", over(PREFETCHED, MIDDLE)),
            Unit::TIMES,
            Says::Above(1.0),
            Estimate::factor(&megabytes[PREFETCHED], &megabytes[MIDDLE]),
        ));
        let asked = "a barrier that takes partial work converges in less time than one that waits for whole";
        claims.push(Claim::new(
            format!("{asked} (Wang et al., abstract): {}", over(SYNCHRONOUS, ASKING)),
            Unit::TIMES,
            Says::Above(1.0),
            Estimate::factor(&minutes[SYNCHRONOUS], &minutes[ASKING]),
        ));
        claims
    }
}

/// Returns the share of the time spent waiting, for each seed: 1 minus `one` / `asynchronous`, both numbers of
/// trainings. The asynchronous arm never waits.
fn waiting(one: &Sample, asynchronous: &Sample) -> Sample {
    let share = |(count, all): (&f64, &f64)| 1.0 - count / all;
    Sample { values: one.values.iter().zip(&asynchronous.values).map(share).collect(), ..one.clone() }
}

/// Returns a text that names both compared methods.
fn over(one: usize, other: usize) -> String {
    format!("{} against {}", METHODS[one], METHODS[other])
}

fn finding(series: Vec<Series>, hours: f64) -> Finding {
    let measured = Measured::of(&series);
    let minutes = &measured.minutes;
    let heading = [
        "method",
        "rate",
        "trainings",
        "waiting",
        "staleness",
        "MB fetched",
        "minutes",
        "accuracy at the end",
    ];
    let title = format!("In {:.0} virtual minutes; minutes to {:.0} %", hours * 60.0, TARGET * 100.0);
    let mut table = Table::new(&title, &heading);
    let spread = |sample: &Sample| Spread::of(&sample.values).unwrap_or_default();
    for (index, one) in series.iter().enumerate() {
        table.rows.push(vec![
            one.arm.name.clone(),
            one.arm.tuned.clone(),
            spread(&measured.trainings[index]).show(0),
            spread(&measured.waiting[index]).percent(),
            spread(&measured.staleness[index]).show(2),
            spread(&measured.megabytes[index]).show(1),
            minutes[index].to_string(),
            one.late(Shows::Accuracy).percent(),
        ]);
    }
    let lines = series.iter().map(|one| one.line(Over::Minutes, Shows::Accuracy)).collect();
    Finding {
        name: "stale-synchronous",
        title: "Bounded staleness with one slow client",
        source: "Ho et al. 2013, \"More effective distributed ML via a stale synchronous parallel parameter server\"; \
                 Zhao et al. 2019, \"Dynamic stale synchronous parallel distributed training for deep learning\"; Dai et \
                 al. 2015, \"High-performance distributed ML at scale through parameter server consistency models\"; Wang et \
                 al. 2018, \"Aggressive synchronization with partial processing for iterative ML jobs on clusters\" (A-BSP).",
        setting: format!(
            "Here: the digits, dealt to {CLIENTS} clients by a Dirichlet distribution of 1; a training takes \
             {SECONDS} s, at one client {SLOWER} times as long. Every update is a commit with a server rate of \
             1/{CLIENTS}, in the synchronous arm the mean over all with 1. The clients' rate is the best of {RATES:?}, \
             by the time to the target with a seed that is not measured. Waiting is the share of trainings that the \
             asynchronous arm has more in the same time. Prefetched: each version is offered to clients that wait \
             (`prefetch = true`). A-BSP: when nine are done, the slow client is asked for what it has."
        ),
        target: Some(TARGET),
        claims: measured.claims(),
        tables: vec![table],
        notes: vec![
            "The paper's controller with its lead capped at s = 10, as a model of clocks alone, makes 390 trainings where a \
             bound of 3 makes 327 and one of 10 makes 390 (`server/coordinator/tests/schedules/dynamic_model.rs`). Without \
             the cap its lead has no end as long as one grant follows another."
                .into(),
            "ESSP (Dai et al.) refreshes a worker between the clocks of its own training. A client here trains from one \
             version to the end of its assignment, so there is no policy of that name: what can be had is to fetch the \
             next version while one waits. It starts with a commit, which is a newer version again."
                .into(),
        ],
        plot: Plot {
            x: "virtual minutes",
            y: "accuracy, %",
            is_share: true,
            panels: vec![Panel { title: "One client six times slower".to_owned(), lines }],
            ..Plot::default()
        },
        series,
    }
}
