//! The task that the demo trains.

use folkmoot_coordinator::{
    aggregation::AggregatorChoice,
    privacy::{Amplification, CentralPrivacy, Clipping, PrivacyChoice, SumNoise, Terms},
    scheduling::{SchedulingChoice, Synchronous},
    task::{StopConditions, TaskDescription},
};
use folkmoot_privacy::{Delta, ledger::Totals};
use folkmoot_protocol::{LocalOptimizer, Loss, PopulationName, TaskId, TrainingPlan};

use super::report::PrivacyReport;

/// The population and the task's name.
pub const NAME: &str = "digits";

// With 20 clients of about 72 examples and half of them in a round, these reach 95 % within 15 rounds for any
// concentration from 0.3 up. Larger steps reach it sooner and fall back more often when clients differ.
/// Passes over a client's examples in a round.
const EPOCHS: u32 = 5;
const BATCH_SIZE: u32 = 8;
const LEARNING_RATE: f32 = 0.05;
const MOMENTUM: f32 = 0.9;
/// On one machine nobody is far away: whoever takes so long has failed.
const DEADLINE_SECONDS: u64 = 30;

/// With a page: passes over a client's examples in a round, and how long a person and their page may take.
const PAGE_EPOCHS: u32 = 2;
const PAGE_BATCH_SIZE: u32 = 16;
const PERSON_DEADLINE_SECONDS: u64 = 3600;
const PAGE_DEADLINE_SECONDS: u64 = 60;

/// Where training is private: about the norm of an update of these clients.
const CLIPPING_NORM: f64 = 1.0;
/// Rounds that the task may have beyond those for which the budget lasts.
const ROUNDS_BEYOND: u32 = 1000;

/// Returns the population's name.
pub fn population() -> PopulationName {
    NAME.parse().expect("it begins with a letter and has no others")
}

/// Describes the task: federated averaging in synchronous rounds, without spares, since all clients are near.
pub fn description(rounds: u32, cohort: u32, privacy: Option<PrivacyReport>) -> TaskDescription {
    let synchronous = synchronous(cohort, DEADLINE_SECONDS, DEADLINE_SECONDS);
    let description = averaging(rounds, training(EPOCHS, BATCH_SIZE), synchronous);
    match privacy {
        Some(budget) => private(description, budget),
        None => description,
    }
}

/// Describes the task in which a page takes part: each round waits for it, and learns little enough that a person can watch
/// what comes of it.
pub fn description_with_page(rounds: u32, cohort: u32) -> TaskDescription {
    let synchronous = synchronous(cohort, PERSON_DEADLINE_SECONDS, PAGE_DEADLINE_SECONDS);
    averaging(rounds, training(PAGE_EPOCHS, PAGE_BATCH_SIZE), synchronous)
}

fn averaging(rounds: u32, plan: TrainingPlan, synchronous: Synchronous) -> TaskDescription {
    let scheduling = SchedulingChoice::Synchronous(synchronous);
    TaskDescription::new(
        NAME,
        population(),
        plan,
        scheduling,
        StopConditions::after_rounds(u64::from(rounds)),
    )
}

/// Rounds of whole cohorts, without spares.
fn synchronous(cohort: u32, selection_seconds: u64, reporting_seconds: u64) -> Synchronous {
    Synchronous {
        report_goal: u64::from(cohort),
        over_selection_factor: Some(1.0),
        minimum_cohort: None,
        selection_deadline_seconds: selection_seconds,
        reporting_deadline_seconds: reporting_seconds,
    }
}

/// Makes the versions private: with the noise for which the budget lasts as many rounds as are asked for. It is the budget
/// that ends the task then, not the number of rounds.
fn private(description: TaskDescription, budget: PrivacyReport) -> TaskDescription {
    let rounds = description.stop.rounds;
    let mut central = CentralPrivacy {
        epsilon: budget.epsilon,
        delta: budget.delta,
        participations_max: rounds,
        clipping: Clipping::Fixed { norm: CLIPPING_NORM },
        noise: SumNoise::Independent,
        noise_multiplier: None,
        amplification: Amplification::None,
    };
    let aggregator = AggregatorChoice::UniformMean;
    let calibrated = TaskDescription { aggregator, privacy: PrivacyChoice::Central(central), ..description };
    // Without terms the coordinator refuses the description, and says why.
    let terms = Terms::of(&calibrated).ok().flatten();
    central.noise_multiplier = terms.map(|terms| terms.charge.noise_multiplier.get());
    // A participation more than the budget has: nothing but the budget stops it.
    central.participations_max = rounds.map(|rounds| rounds + 1);
    let stop = StopConditions::after_rounds(u64::from(ROUNDS_BEYOND) + rounds.unwrap_or_default());
    TaskDescription { privacy: PrivacyChoice::Central(central), stop, ..calibrated }
}

/// Returns the epsilon that so many versions spend, where they are private.
pub fn spent(description: &TaskDescription, versions: u64) -> Option<f64> {
    let limits = description.privacy.limits()?;
    let terms = Terms::of(description).ok()??;
    let mut totals = Totals::default();
    totals.add(TaskId::from_random_bytes([0; 16]), terms.charge, versions);
    let delta = Delta::new(limits.delta).ok()?;
    Some(totals.spent(delta).ok()?.epsilon.get())
}

fn training(epochs: u32, batch_size: u32) -> TrainingPlan {
    let optimizer = LocalOptimizer::Sgd {
        learning_rate: LEARNING_RATE,
        momentum: MOMENTUM,
        nesterov: false,
        weight_decay: 0.0,
    };
    let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, optimizer);
    TrainingPlan { epochs, batch_size, ..plan }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_one_that_the_coordinator_takes() {
        for (rounds, cohort) in [(1, 1), (30, 10), (10_000, 200)] {
            assert_eq!(description(rounds, cohort, None).validate(), []);
            assert_eq!(description_with_page(rounds, cohort).validate(), []);
            let budget = PrivacyReport { epsilon: 8.0, delta: 1e-5 };
            let private = description(rounds, cohort, Some(budget));
            assert_eq!(private.validate(), []);
            assert!(spent(&private, u64::from(rounds)).is_some_and(|epsilon| epsilon <= 8.0));
            assert!(spent(&private, u64::from(rounds) + 1).is_some_and(|epsilon| epsilon > 8.0));
        }
    }
}
