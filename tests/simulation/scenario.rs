//! The scenario of a seed: the tasks, the clients with their behaviour, and the rates of the faults.

use folkmoot_aggregation::{
    AggregatorChoice, BoundedMean,
    finalizer::{FedAvg, FedAvgM, FinalizerChoice},
};
use folkmoot_coordinator::{
    scheduling::{
        AggressiveSynchronous, Asynchronous, AtBound, Buffered, Correction, DynamicStaleSynchronous,
        SchedulingChoice, SemiSynchronous, StaleSynchronous, Staleness, StalenessWeight, Synchronous,
        ValueBounded,
    },
    task::{StopConditions, TaskDescription},
};
use folkmoot_protocol::{
    LocalOptimizer, Loss, PopulationName, TensorSchema, TensorSpec, TrainingPlan, ValueGrid,
};

use crate::chance::Chance;

mod masked;

/// All random choices that are made before a world begins.
pub struct Scenario {
    /// The tasks, all of one population.
    pub tasks: Vec<TaskScenario>,
    pub clients: Vec<Nature>,
    /// The rates of the faults.
    pub faults: Faults,
    /// The number of events after which the faults stop.
    pub fault_events: u64,
    /// A deliberate mistake; `None` for no mistake.
    pub sabotage: Option<Sabotage>,
}

/// A task of a scenario.
pub struct TaskScenario {
    /// The task's description.
    pub description: TaskDescription,
    /// The tensors of the task's model.
    pub schema: TensorSchema,
}

/// The behaviour of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// The client behaves like the SDK.
    Honest,
    /// The client is honest until it disappears forever.
    Vanishing,
    /// The client's training never ends.
    Stalling,
    /// The client sends updates that the coordinator must refuse.
    Hostile(Garbage),
    /// The client breaks the protocol of secure aggregation.
    Cheating(Cheat),
}

/// The message of secure aggregation that a cheating client falsifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cheat {
    /// A public key is of small order.
    WeakKey,
    /// A repeated message has other keys.
    OtherKeys,
    /// A neighbour gets no share.
    MissingShare,
    /// The neighbours cannot decrypt their shares.
    UnreadableShares,
    /// The shares do not match their commitments.
    WrongCommitments,
    /// An opened share differs from the share that its owner has sent.
    WrongOpening,
}

/// The invalid upload of a hostile client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    NotFinite,
    OutOfRange,
    OtherSchema,
    OtherVersion,
    NoWeight,
    TooMuchWeight,
    OtherAssignment,
    AnothersAssignment,
    TooLong,
    TooShort,
    ImpossibleMetrics,
    NoUpdate,
    OtherDigest,
    /// Two different valid updates for one assignment. The coordinator may accept at most one of them.
    TwoUpdates,
}

const GARBAGE: [Garbage; 14] = [
    Garbage::NotFinite,
    Garbage::OutOfRange,
    Garbage::OtherSchema,
    Garbage::OtherVersion,
    Garbage::NoWeight,
    Garbage::TooMuchWeight,
    Garbage::OtherAssignment,
    Garbage::AnothersAssignment,
    Garbage::TooLong,
    Garbage::TooShort,
    Garbage::ImpossibleMetrics,
    Garbage::NoUpdate,
    Garbage::OtherDigest,
    Garbage::TwoUpdates,
];

/// Deliberate mistakes that the simulation must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The oracle omits one update, like a coordinator that lost an update.
    AnUpdateIsLost,
    /// A client whose connection broke gets the response that its update was accepted.
    AnAnswerIsForged,
    /// A restarted client produces a different update for the same assignment.
    AClientAnswersTwice,
    /// The records of the clients' updates mark hostile updates as honest, and honest updates as hostile.
    GarbageCounts,
    /// The drivers stop working when the faults stop.
    NobodyDrives,
    /// The coordinator names other survivors again, and the client's journal has forgotten its answer.
    AJournalForgets,
    /// The collection deletes everything.
    NothingIsNeeded,
}

/// The rates of the faults, in thousandths unless stated otherwise.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// The rate at which a message is lost.
    pub dropped: u64,
    /// The rate at which a message arrives twice.
    pub doubled: u64,
    /// The rate at which a message arrives long after later messages.
    pub delayed: u64,
    /// The rate at which the connection breaks, for each part of an upload.
    pub broken: u64,
    /// The rate at which a bit flips, for each part of an upload.
    pub damaged: u64,
    /// The rate at which the coordinator crashes, at each place where it can crash.
    pub crash_points: u64,
    /// The rate at which a client is killed, for each of its steps.
    pub client_kills: u64,
    /// The relative frequencies of environment events: coordinator crash, client crash, jump of the coordinator's
    /// clock, jump of a client's clock, operator action, client stopped, blob failure, nothing.
    pub environment: [u64; 8],
    /// The largest jump of a clock, in milliseconds.
    pub jump_milliseconds_max: u64,
    /// True if an operator may cancel a task.
    pub may_cancel: bool,
}

impl Scenario {
    /// Generates the scenario of a seed.
    pub fn of(seed: u64, sabotage: Option<Sabotage>) -> Self {
        let mut chance = Chance::of(seed, 0);
        let count = chance.within(3..=8) as usize;
        let honest = chance.within(1..=count as u64) as usize;
        let mut clients = vec![Nature::Honest; honest];
        clients.resize_with(count, || nature(&mut chance));
        let task_count = if chance.happens(250) { 2 } else { 1 };
        let tasks = (0..task_count).map(|_| task(&mut chance, honest as u64, count as u64)).collect();
        let faults = faults(&mut chance);
        let tasks = aggregated(tasks, &mut Chance::of(seed, AGGREGATORS));
        let tasks = asking(tasks, &mut Chance::of(seed, ASKING));
        let fault_events = chance.within(100..=500);
        masked::masked(seed, Self { tasks, clients, faults, fault_events, sabotage })
    }
}

/// The random stream that chooses aggregators. It is separate, so that adding it did not change the rest of existing
/// seeds.
const AGGREGATORS: u64 = 100;

/// The random stream that chooses rounds that ask their stragglers. It is separate, so that adding it did not change
/// the rest of existing seeds.
const ASKING: u64 = 99;

/// Lets some of the synchronous tasks ask their stragglers for partial updates.
fn asking(tasks: Vec<TaskScenario>, chance: &mut Chance) -> Vec<TaskScenario> {
    let with = |mut task: TaskScenario| {
        let (asks, grace_seconds) = (chance.happens(300), chance.within(1..=20));
        if let (true, SchedulingChoice::Synchronous(policy)) = (asks, task.description.scheduling) {
            let aggressive = AggressiveSynchronous {
                cohort: policy.report_goal,
                ask_at: None,
                grace_seconds,
                minimum_cohort: policy.minimum_cohort,
                selection_deadline_seconds: policy.selection_deadline_seconds,
                reporting_deadline_seconds: policy.reporting_deadline_seconds,
            };
            task.description.scheduling = SchedulingChoice::AggressiveSynchronous(aggressive);
        }
        task
    };
    tasks.into_iter().map(with).collect()
}

/// Chooses the aggregator of each task.
fn aggregated(tasks: Vec<TaskScenario>, chance: &mut Chance) -> Vec<TaskScenario> {
    let with = |mut task: TaskScenario| {
        let may_be_bounded = task.description.scheduling.policy().flow().is_none();
        task.description.aggregator = match may_be_bounded && chance.happens(500) {
            true => AggregatorChoice::BoundedMean(BoundedMean { influence_max: [3.0, 1.0][chance.below(2)] }),
            false => AggregatorChoice::WeightedMean,
        };
        task
    };
    tasks.into_iter().map(with).collect()
}

fn nature(chance: &mut Chance) -> Nature {
    match chance.within(0..=9) {
        0..=2 => Nature::Honest,
        3..=4 => Nature::Vanishing,
        5 => Nature::Stalling,
        6 => Nature::Hostile(Garbage::TwoUpdates),
        _ => Nature::Hostile(GARBAGE[chance.below(GARBAGE.len())]),
    }
}

fn task(chance: &mut Chance, honest: u64, clients: u64) -> TaskScenario {
    let scheduling = match chance.happens(500) {
        true => flow(chance),
        false => synchronous(chance, honest, clients),
    };
    let plan =
        TrainingPlan { batch_size: 4, ..TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.1)) };
    let grid = ValueGrid {
        fraction_bits: chance.within(8..=30) as u32,
        value_max: [16.0, 1.0, 0.1][chance.below(3)],
        weight_max: [10_000, 100, 1][chance.below(3)],
    };
    let server_learning_rate = [1.0, 0.5, 0.7][chance.below(3)];
    let mixes = scheduling.policy().staleness().correction == Correction::ModelMixing;
    let finalizer = match !mixes && chance.happens(300) {
        true => {
            FinalizerChoice::FedAvgM(FedAvgM { server_learning_rate, momentum: 0.5, ..FedAvgM::default() })
        }
        false => FinalizerChoice::FedAvg(FedAvg { server_learning_rate, ..FedAvg::default() }),
    };
    let stop = StopConditions::after_rounds(chance.within(1..=4));
    let description = TaskDescription {
        grid,
        finalizer,
        prefetch: grid.fraction_bits.is_multiple_of(2),
        // Hostile clients may spoil many rounds in a row, until the faults stop.
        abandoned_rounds_max: 1_000_000,
        ..TaskDescription::new("a simulated task", population(), plan, scheduling, stop)
    };
    assert_eq!(description.validate(), [], "a simulated task is a valid one");
    TaskScenario { description, schema: schema(chance) }
}

fn synchronous(chance: &mut Chance, honest: u64, clients: u64) -> SchedulingChoice {
    let minimum = chance.within(1..=honest.min(3));
    let report_goal = chance.within(minimum..=minimum.max(clients.min(5)));
    SchedulingChoice::Synchronous(Synchronous {
        report_goal,
        over_selection_factor: [Some(1.0), None, Some(2.0)][chance.below(3)],
        minimum_cohort: Some(minimum),
        selection_deadline_seconds: chance.within(2..=15),
        reporting_deadline_seconds: chance.within(5..=45),
    })
}

/// Returns a random flow policy. Deadlines are short, so that a stalling client does not block others for long.
fn flow(chance: &mut Chance) -> SchedulingChoice {
    let concurrency = chance.within(1..=6);
    let reporting_deadline_seconds = chance.within(5..=45);
    let at_bound = [AtBound::Delay, AtBound::Reject][chance.below(2)];
    let correction =
        [Correction::None, Correction::ModelMixing, Correction::DelayCompensation { lambda: 0.5 }]
            [chance.below(3)];
    let weight = [
        StalenessWeight::Constant,
        StalenessWeight::Polynomial { exponent: 0.5 },
        StalenessWeight::Hinge { slope: 1.0, delay: 1 },
    ][chance.below(3)];
    let maximum = [None, Some(1), Some(3)][chance.below(3)];
    let staleness = Staleness { weight, maximum, at_bound, correction };
    let stale_synchronous = StaleSynchronous {
        bound: chance.within(0..=3),
        at_bound,
        concurrency,
        staleness_weight: weight,
        correction,
        absence_seconds: chance.within(5..=30),
        reporting_deadline_seconds,
    };
    match chance.within(0..=6) {
        0 => SchedulingChoice::Asynchronous(Asynchronous {
            concurrency,
            staleness,
            reporting_deadline_seconds,
        }),
        1 => SchedulingChoice::SemiSynchronous(SemiSynchronous {
            slot_seconds: chance.within(2..=20),
            concurrency,
            minimum_cohort: 1,
            staleness,
            reporting_deadline_seconds: Some(reporting_deadline_seconds),
        }),
        2 | 3 => SchedulingChoice::StaleSynchronous(stale_synchronous),
        4 => SchedulingChoice::DynamicStaleSynchronous(DynamicStaleSynchronous {
            bound_min: stale_synchronous.bound,
            bound_max: stale_synchronous.bound + chance.within(0..=3),
            at_bound,
            concurrency,
            staleness_weight: weight,
            correction,
            absence_seconds: stale_synchronous.absence_seconds,
            reporting_deadline_seconds,
        }),
        5 => SchedulingChoice::ValueBounded(ValueBounded {
            norm_max: [0.5, 5.0, 50.0][chance.below(3)],
            at_bound,
            concurrency,
            staleness_weight: weight,
            correction,
            reporting_deadline_seconds,
        }),
        _ => SchedulingChoice::Buffered(Buffered {
            buffer_goal: chance.within(1..=3),
            concurrency,
            staleness,
            commit_after_seconds: [None, Some(chance.within(5..=20))][chance.below(2)],
            reporting_deadline_seconds,
        }),
    }
}

fn schema(chance: &mut Chance) -> TensorSchema {
    let tensor = |name: &str, shape: &[u64]| TensorSpec { name: name.into(), shape: shape.to_vec() };
    let (rows, columns) = (chance.within(1..=6), chance.within(2..=5));
    TensorSchema { tensors: vec![tensor("weight", &[rows, columns]), tensor("bias", &[columns])] }
}

/// Returns the name of the population.
pub fn population() -> PopulationName {
    "simulated".parse().expect("it is a plain word")
}

/// Chooses the rate of each kind of fault independently. A world with a single kind of fault finds bugs that a mixture
/// hides.
fn faults(chance: &mut Chance) -> Faults {
    let is_still = chance.happens(250);
    let mut rate = |most: u64| if chance.happens(400) { 0 } else { chance.within(1..=most) };
    let environment = [rate(10), rate(10), rate(10), rate(10), rate(6), rate(6), rate(6), 0];
    Faults {
        dropped: rate(250),
        doubled: rate(250),
        delayed: rate(250),
        broken: rate(250),
        damaged: rate(60),
        crash_points: rate(120),
        client_kills: rate(60),
        environment: if is_still { [0; 8] } else { environment },
        jump_milliseconds_max: [2_000, 30_000, 120_000][chance.below(3)],
        may_cancel: chance.happens(100),
    }
}
