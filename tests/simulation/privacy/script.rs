//! Generates the script of a seed: the unit of privacy, the clients, and the tasks.

use folkmoot_coordinator::task::TaskDescription;
use serde_json::{Value, json};

use crate::chance::Chance;

/// The maximum number of clients when a world begins. Devices that enrol again add a few more. Sampled rounds need more
/// clients.
const CLIENTS_MAX: u64 = 12;
const SAMPLED_CLIENTS_MAX: u64 = 18;

/// The privacy mechanism of a task. The coverage has a count for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    Fixed,
    Adaptive,
    Poisson,
    Tree,
    Blt,
    Local,
}

impl Mechanism {
    pub const ALL: [Self; 6] =
        [Self::Fixed, Self::Adaptive, Self::Poisson, Self::Tree, Self::Blt, Self::Local];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed norm",
            Self::Adaptive => "adaptive norm",
            Self::Poisson => "Poisson sampling",
            Self::Tree => "tree",
            Self::Blt => "buffered Toeplitz",
            Self::Local => "local noise",
        }
    }
}

/// The behaviour of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// The client is always available, and its updates have exactly the clipping norm.
    Steady,
    /// The norm of the client's updates is below the clipping norm.
    Short,
    /// The client is often absent, drops its work, or is too late.
    Flaky,
    /// The norm of the client's updates exceeds the clipping norm.
    Long,
    /// The client sends every update twice, and then a different update for the same assignment.
    Doubling,
    /// The client's connections break during uploads.
    Breaking,
}

impl Nature {
    /// Returns the distance by which the client certainly shifts each round for which it is drawn, in clipping norms; 0
    /// for clients that may not deliver.
    pub fn certain_length(self) -> f64 {
        match self {
            Self::Steady | Self::Short | Self::Doubling => self.length(),
            Self::Flaky | Self::Long | Self::Breaking => 0.0,
        }
    }

    /// Returns the norm of the client's updates, in clipping norms.
    pub fn length(self) -> f64 {
        match self {
            Self::Short => 0.5,
            Self::Long => 3.0,
            _ => 1.0,
        }
    }
}

/// A task in the form in which its operator describes it.
#[derive(Clone, Debug)]
pub struct TaskScript {
    pub mechanism: Mechanism,
    pub description: TaskDescription,
    /// The noise multiplier that the task sets; `None` if it is computed from epsilon.
    pub multiplier: Option<f64>,
    /// The sampling probability. Used only for sampled rounds.
    pub rate: f64,
    pub participations_max: u64,
    pub report_goal: u64,
}

/// All random choices that are made before a world begins.
#[derive(Clone, Debug)]
pub struct Script {
    /// True if the unit of privacy is the user with all devices; false if it is the client.
    pub protects_users: bool,
    /// The initial budget of all tasks together, as epsilon and delta; `None` without a budget.
    pub budget: Option<(f64, f64)>,
    /// The behaviour and the user of each client.
    pub clients: Vec<(Nature, usize)>,
    /// The initial tasks. Later, the operator clones them or creates descendants.
    pub tasks: Vec<TaskScript>,
    /// True if the tasks run one after the other, as sampled rounds require.
    pub one_by_one: bool,
    /// The average number of operator actions in a thousand ticks.
    pub unrest: u64,
}

impl Script {
    /// Generates the script of a seed.
    pub fn of(seed: u64) -> Self {
        let mut chance = Chance::of(seed, 20);
        let first = Mechanism::ALL[chance.below(Mechanism::ALL.len())];
        let one_by_one = first == Mechanism::Poisson;
        let protects_users = !one_by_one && chance.happens(300);
        let count = match first {
            Mechanism::Adaptive => chance.within(10..=CLIENTS_MAX),
            Mechanism::Poisson => chance.within(6..=SAMPLED_CLIENTS_MAX),
            _ => chance.within(3..=CLIENTS_MAX),
        } as usize;
        let clients = (0..count).map(|index| (nature(&mut chance, index), user(&mut chance, index)));
        let clients: Vec<(Nature, usize)> = clients.collect();
        let task_count = if chance.happens(400) { 2 } else { 1 };
        let mut tasks = vec![task(first, count as u64, &mut chance)];
        while tasks.len() < task_count {
            let next = Mechanism::ALL[chance.below(Mechanism::ALL.len())];
            let goes = match next {
                Mechanism::Poisson => one_by_one,
                Mechanism::Adaptive => count >= 10,
                _ => true,
            };
            if goes {
                tasks.push(task(next, count as u64, &mut chance));
            }
        }
        let budget = (task_count > 1 || chance.happens(500)).then(|| {
            let epsilon = if chance.happens(600) { 1000.0 } else { chance.within(10..=200) as f64 / 10.0 };
            (epsilon, [1e-3, 1e-5, 1e-6][chance.below(3)])
        });
        let unrest = [0, 100, 250][chance.below(3)];
        Self { protects_users, budget, clients, tasks, one_by_one, unrest }
    }
}

fn nature(chance: &mut Chance, index: usize) -> Nature {
    if index == 0 {
        return Nature::Steady;
    }
    match chance.within(0..=11) {
        0 => Nature::Short,
        1 => Nature::Flaky,
        2 => Nature::Long,
        3 => Nature::Doubling,
        4 => Nature::Breaking,
        _ => Nature::Steady,
    }
}

/// Returns the number of a device's user. About every third device belongs to the same user as the previous device.
fn user(chance: &mut Chance, index: usize) -> usize {
    if index > 0 && chance.happens(300) { index - 1 } else { index }
}

fn task(mechanism: Mechanism, clients: u64, chance: &mut Chance) -> TaskScript {
    let is_sampled = mechanism == Mechanism::Poisson;
    let rounds = if is_sampled { chance.within(3..=8) } else { chance.within(1..=5) };
    let is_capped = chance.happens(if is_sampled { 250 } else { 600 });
    let participations_max = if is_capped { chance.within(1..=rounds) } else { rounds };
    // The noise on the count uses a part of the budget. The part is larger for smaller report goals, and a very small
    // goal would use up the whole budget.
    let report_goal = match mechanism {
        Mechanism::Adaptive => chance.within(10..=clients.max(10)),
        Mechanism::Local => chance.within(clients.div_ceil(2)..=clients),
        _ => chance.within(1..=clients),
    };
    let is_low = chance.happens(150);
    let multiplier = match mechanism {
        Mechanism::Adaptive => chance.within(30..=70) as f64 / 100.0,
        _ if is_low => 0.06,
        _ => chance.within(50..=500) as f64 / 100.0,
    };
    let is_given = mechanism == Mechanism::Adaptive || is_low || chance.happens(750);
    let is_bounded = !is_given || chance.happens(if is_sampled { 150 } else { 300 });
    let epsilon = if is_bounded { chance.within(10..=150) as f64 / 10.0 } else { 1000.0 };
    let rate = [0.1, 0.2, 0.4, 0.7][chance.below(4)];
    let norm = chance.within(1..=20) as f64 / 10.0;
    let mut privacy = json!({
        "kind": if mechanism == Mechanism::Local { "local" } else { "central" },
        "epsilon": epsilon, "delta": ([1e-3, 1e-5, 1e-6][chance.below(3)]),
    });
    if is_given {
        privacy["noise_multiplier"] = json!(multiplier);
    }
    if participations_max < rounds {
        privacy["participations_max"] = json!(participations_max);
    }
    let separation = chance.within(1..=3);
    match mechanism {
        Mechanism::Local => privacy["clipping_norm"] = json!(norm),
        Mechanism::Adaptive => {
            privacy["clipping"] = json!({ "kind": "adaptive", "initial_norm": norm, "rate": 0.2 });
        }
        _ => privacy["clipping"] = json!({ "kind": "fixed", "norm": norm }),
    }
    match mechanism {
        Mechanism::Poisson => privacy["amplification"] = json!("poisson"),
        Mechanism::Tree => privacy["noise"] = json!({ "kind": "tree", "separation": separation }),
        Mechanism::Blt => privacy["noise"] = json!({ "kind": "blt", "separation": separation }),
        _ => {}
    }
    let description = described(mechanism, privacy, (rounds, report_goal, rate), chance);
    let multiplier = is_given.then_some(multiplier);
    TaskScript { mechanism, description, multiplier, rate, participations_max, report_goal }
}

fn described(
    mechanism: Mechanism,
    privacy: Value,
    (rounds, report_goal, rate): (u64, u64, f64),
    chance: &mut Chance,
) -> TaskDescription {
    let mut description = json!({
        "name": mechanism.name(),
        "population": "people",
        "plan": {
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 1,
        },
        "scheduling": {
            "kind": "synchronous", "report_goal": report_goal, "minimum_cohort": chance.within(1..=report_goal),
            "over_selection_factor": ([1.0, 1.3, 2.0][chance.below(3)]),
            "selection_deadline_seconds": 10, "reporting_deadline_seconds": chance.within(20..=40),
        },
        "aggregator": { "kind": "uniform_mean" },
        "privacy": privacy,
        "stop": { "rounds": rounds },
    });
    if mechanism == Mechanism::Poisson {
        description["selection"] = json!({ "kind": "poisson", "sampling_rate": rate });
        description["scheduling"]["minimum_cohort"] = json!(chance.within(1..=4));
        // The deadline is long enough for every client that is not absent.
        description["scheduling"]["reporting_deadline_seconds"] = json!(chance.within(45..=60));
    }
    if mechanism == Mechanism::Local {
        description["grid"] = json!({ "value_max": 16384.0, "fraction_bits": 20, "weight_max": 1 });
    }
    serde_json::from_value(description).expect("it is a description")
}
