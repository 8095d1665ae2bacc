//! Times the slowest answers of the accountants, in CPU seconds, over a grid of extreme arguments. No answer should
//! take a second.
//!
//! `cargo run --release -p folkmoot-privacy --example extremes [-- [--json] [part of a question's name]]`

use folkmoot_privacy::{
    Delta, Epsilon, NoiseMultiplier, Relation, SamplingRate, Unit,
    accountant::{
        BufferedToeplitz, Orders, ParticipationPattern, RdpCurve, best_tree, gaussian_epsilon,
        poisson_gaussian_epsilon, rho_of_gaussian, zcdp_epsilon,
    },
    calibrate::{largest_releases, smallest_multiplier},
    plan::Intention,
};

/// The number of lines printed for each question.
const SHOWN: usize = 2;

/// The smallest, the largest and some usual arguments of each kind.
const RATES: [f64; 4] = [1e-9, 1e-3, 0.3, 1.0];
const MULTIPLIERS: [f64; 6] = [0.05, 0.3, 1.0, 10.0, 300.0, 1e4];
const ROUNDS: [u64; 3] = [1, 1_000, 1_000_000];
const DELTAS: [f64; 2] = [1e-12, 1e-3];

/// One point of the grid.
#[derive(Clone, Copy)]
struct Point {
    rate: SamplingRate,
    multiplier: NoiseMultiplier,
    rounds: u64,
    delta: Delta,
}

/// A question's name, and the function that answers it.
type Question = (&'static str, fn(Point) -> Option<f64>);

const QUESTIONS: [Question; 12] = [
    ("zCDP", |p| Some(zcdp_epsilon(rho_of_gaussian(p.multiplier, p.rounds), p.delta).get())),
    ("exact Gaussian", |p| Some(gaussian_epsilon(p.multiplier, p.rounds, p.delta).get())),
    ("RDP, Poisson", |p| rdp(p.rate, p.multiplier, p.rounds, p.delta)),
    ("RDP, mixed rounds", mixed),
    ("PLD", |p| Some(poisson_gaussian_epsilon(p.rate, p.multiplier, p.rounds, p.delta)?.get())),
    ("PLD, replace one", |p| {
        let multiplier = p.multiplier.under(Relation::ReplaceOne);
        Some(poisson_gaussian_epsilon(p.rate, multiplier, p.rounds, p.delta)?.get())
    }),
    ("noise for a budget, by RDP", |p| {
        let target = Epsilon::new(1.0).ok()?;
        let spent = |multiplier| Epsilon::new(rdp(p.rate, multiplier, p.rounds, p.delta)?).ok();
        Some(smallest_multiplier(target, Relation::ZeroOut, spent).ok()?.get())
    }),
    ("noise for a budget, by PLD", |p| {
        let target = Epsilon::new(1.0).ok()?;
        let spent = |multiplier| poisson_gaussian_epsilon(p.rate, multiplier, p.rounds, p.delta);
        Some(smallest_multiplier(target, Relation::ZeroOut, spent).ok()?.get())
    }),
    ("rounds within a budget, by RDP", |p| {
        let one = RdpCurve::of_poisson_gaussian(p.rate, p.multiplier, Orders::default()).ok()?;
        let spent = |rounds| one.clone().times(rounds).epsilon(p.delta);
        Some(largest_releases(Epsilon::new(1.0).ok()?, p.rounds, spent) as f64)
    }),
    ("best tree", |p| Some(best_tree(p.rounds, pattern(p)).1)),
    ("best factorisation", |p| Some(BufferedToeplitz::chosen_for(p.rounds as usize, pattern(p)).1)),
    ("plan", |p| {
        let intention = Intention {
            clients: 1_000_000,
            report_goal: (p.rate.get() * 1e6).ceil() as u64,
            rounds: p.rounds,
            participations_max: p.rounds,
            is_poisson_claimed: true,
            epsilon: Epsilon::new(1.0).ok()?,
            delta: p.delta,
            unit: Unit::Client,
            parameters: 1_000_000,
            clipping_norm: 1.0,
        };
        Some(intention.forecast().ok()?.epsilon.get())
    }),
];

fn rdp(rate: SamplingRate, multiplier: NoiseMultiplier, rounds: u64, delta: Delta) -> Option<f64> {
    let curve = RdpCurve::of_poisson_gaussian(rate, multiplier, Orders::default()).ok()?;
    Some(curve.times(rounds).epsilon(delta)?.get())
}

/// Computes the epsilon of a ledger with ten kinds of rounds, each with its own charge.
fn mixed(point: Point) -> Option<f64> {
    let mut total = RdpCurve::zero(Relation::ZeroOut, Orders::default());
    for kind in 1..=10 {
        let z = point.multiplier.get() * f64::from(kind);
        let multiplier = NoiseMultiplier::new(z, Relation::ZeroOut).ok()?;
        let curve = RdpCurve::of_poisson_gaussian(point.rate, multiplier, Orders::default()).ok()?;
        total = total.plus(&curve.times(point.rounds)).ok()?;
    }
    Some(total.epsilon(point.delta)?.get())
}

fn pattern(point: Point) -> ParticipationPattern {
    let separation = ((1.0 / point.rate.get()) as u64).max(1);
    ParticipationPattern::new(point.rounds, separation).expect("both are at least 1")
}

fn points() -> Vec<Point> {
    let mut points = Vec::new();
    for rate in RATES {
        for multiplier in MULTIPLIERS {
            for rounds in ROUNDS {
                for delta in DELTAS {
                    points.push(Point {
                        rate: SamplingRate::new(rate).expect("a rate of the list"),
                        multiplier: NoiseMultiplier::new(multiplier, Relation::ZeroOut)
                            .expect("a multiplier of the list"),
                        rounds,
                        delta: Delta::new(delta).expect("a delta of the list"),
                    });
                }
            }
        }
    }
    points
}

/// Returns the CPU time of this thread, so that other processes do not count. Linux only.
fn processor_seconds() -> std::io::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds = text.split_whitespace().next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.map(|nanoseconds| nanoseconds * 1e-9).ok_or(std::io::ErrorKind::InvalidData.into())
}

fn seconds(answer: fn(Point) -> Option<f64>, point: Point) -> std::io::Result<(f64, Option<f64>)> {
    let start = processor_seconds()?;
    let answer = std::hint::black_box(answer(point));
    Ok((processor_seconds()? - start, answer))
}

/// An answer to a question, with the time it took.
struct Timed {
    question: &'static str,
    point: Point,
    seconds: f64,
    answer: Option<f64>,
}

impl Timed {
    fn print(&self, is_json: bool) {
        let Self { question, point, seconds, answer } = self;
        let [rate, multiplier, delta] = [point.rate.get(), point.multiplier.get(), point.delta.get()];
        let rounds = point.rounds;
        if is_json {
            let line = serde_json::json!({
                "question": question, "seconds": seconds, "answer": answer,
                "rate": rate, "multiplier": multiplier, "rounds": rounds, "delta": delta,
            });
            println!("{line}");
        } else {
            let arguments = format!("q {rate:e} z {multiplier:e} rounds {rounds} delta {delta:e}");
            println!("{seconds:8.3} s  {question:30} {arguments}: {answer:?}");
        }
    }
}

fn main() -> std::io::Result<()> {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let is_json = options.iter().any(|option| option == "--json");
    let is_asked = |name: &str| names.iter().all(|part| name.contains(part));
    let mut slowest = Vec::new();
    for (question, answer) in QUESTIONS.into_iter().filter(|(name, _)| is_asked(name)) {
        let mut all = Vec::new();
        for point in points() {
            let (seconds, answer) = seconds(answer, point)?;
            all.push(Timed { question, point, seconds, answer });
        }
        all.sort_by(|first, second| second.seconds.total_cmp(&first.seconds));
        slowest.extend(all.into_iter().take(SHOWN));
    }
    slowest.sort_by(|first, second| second.seconds.total_cmp(&first.seconds));
    slowest.iter().for_each(|timed| timed.print(is_json));
    Ok(())
}
