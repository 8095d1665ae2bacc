//! The task that the demo trains.

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_coordinator::{
    privacy::{Amplification, CentralPrivacy, Clipping, DistributedPrivacy, PrivacyChoice, SumNoise, Terms},
    scheduling::{SchedulingChoice, Synchronous},
    task::{Protection, SecureAggregation, StopConditions, TaskDescription},
};
use folkmoot_privacy::{Delta, ledger::Totals};
use folkmoot_protocol::{LocalOptimizer, Loss, PopulationName, TaskId, TrainingPlan};

use super::report::PrivacyReport;

/// The name of the population and of the task.
pub const NAME: &str = "digits";

// With 20 clients of about 72 examples, and half of the clients in each round, these settings reach 95 % within 15 rounds
// for any concentration of at least 0.3. Larger steps get there sooner, but are less stable if clients differ.
/// The number of passes over a client's examples in a round.
const EPOCHS: u32 = 5;
const BATCH_SIZE: u32 = 8;
const LEARNING_RATE: f32 = 0.05;
const MOMENTUM: f32 = 0.9;
/// The deadlines of a round, in seconds. On one machine, a client that takes this long has failed.
const DEADLINE_SECONDS: u64 = 30;

/// The deadlines of a round in which clients vanish, in seconds. The round waits for them that long.
const VANISHING_DEADLINE_SECONDS: u64 = 15;

/// The settings with a page: passes over a client's examples in a round, and the time limits for the person and the
/// page.
const PAGE_EPOCHS: u32 = 2;
const PAGE_BATCH_SIZE: u32 = 16;
const PERSON_DEADLINE_SECONDS: u64 = 3600;
const PAGE_DEADLINE_SECONDS: u64 = 60;

/// The clipping norm for private training, about the norm of the demo clients' updates.
const CLIPPING_NORM: f64 = 1.0;
/// The number of rounds that the task allows beyond its privacy budget, so that the budget ends it.
const ROUNDS_BEYOND: u32 = 1000;

/// Returns the population's name.
pub fn population() -> PopulationName {
    NAME.parse().expect("it begins with a letter and has only letters")
}

/// Returns the task description: federated averaging in synchronous rounds. There is no over-selection, because all
/// clients run on this machine.
pub fn description(rounds: u32, cohort: u32, privacy: Option<PrivacyReport>) -> TaskDescription {
    let synchronous = synchronous(cohort, DEADLINE_SECONDS, DEADLINE_SECONDS);
    let description = averaging(rounds, training(EPOCHS, BATCH_SIZE), synchronous);
    match privacy {
        Some(budget) => private(description, budget),
        None => description,
    }
}

/// The share of the cohort that must take part in a private masked sum. The noise is sized for this number of clients.
const MASKED_COHORT_SHARE: f64 = 0.8;

/// Makes the clients mask their updates. The means that compare single updates cannot be combined with masks. If the
/// task is private, each client adds its share of the noise.
pub fn masked(mut description: TaskDescription) -> TaskDescription {
    if let PrivacyChoice::Central(central) = description.privacy {
        // The charge covers all rounds from the beginning, so they, and not the budget, end the task.
        let rounds = central.participations_max.map_or(1, |participations| participations.saturating_sub(1));
        description.stop = StopConditions::after_rounds(rounds);
        description.privacy = PrivacyChoice::Distributed(DistributedPrivacy {
            epsilon: central.epsilon,
            delta: central.delta,
            participations_max: Some(rounds),
            clipping_norm: CLIPPING_NORM,
            noise_multiplier: None,
        });
        if let SchedulingChoice::Synchronous(synchronous) = &mut description.scheduling {
            let least = (synchronous.report_goal as f64 * MASKED_COHORT_SHARE).ceil() as u64;
            synchronous.minimum_cohort = Some(least);
        }
    }
    let aggregator = match description.aggregator {
        AggregatorChoice::UniformMean => AggregatorChoice::UniformMean,
        _ => AggregatorChoice::WeightedMean,
    };
    let protection = Protection::SecureAggregation(SecureAggregation::default());
    TaskDescription { aggregator, protection, ..description }
}

/// Shortens the deadlines of the rounds, because each waits in vain for the clients that vanish in it.
pub fn impatient(mut description: TaskDescription) -> TaskDescription {
    if let SchedulingChoice::Synchronous(synchronous) = &mut description.scheduling {
        synchronous.reporting_deadline_seconds = VANISHING_DEADLINE_SECONDS;
    }
    if let Protection::SecureAggregation(aggregation) = &mut description.protection {
        aggregation.step_deadline_seconds = VANISHING_DEADLINE_SECONDS;
    }
    description
}

/// Returns the task description for a demo with a page. Each round waits for the page and learns slowly, so that a
/// person can watch the progress.
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

/// Synchronous rounds that wait for the whole cohort, without over-selection.
fn synchronous(cohort: u32, selection_seconds: u64, reporting_seconds: u64) -> Synchronous {
    Synchronous {
        report_goal: u64::from(cohort),
        over_selection_factor: Some(1.0),
        minimum_cohort: None,
        selection_deadline_seconds: selection_seconds,
        reporting_deadline_seconds: reporting_seconds,
    }
}

/// Makes the task private. The noise is calibrated so that the budget lasts for the requested number of rounds. The
/// budget then ends the task, not the number of rounds.
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
    // If there are no terms, the coordinator rejects the description with the reason.
    let terms = Terms::of(&calibrated).ok().flatten();
    central.noise_multiplier = terms.map(|terms| terms.charge.noise_multiplier.get());
    // One participation more than the budget allows, so that only the budget ends the task.
    central.participations_max = rounds.map(|rounds| rounds + 1);
    let stop = StopConditions::after_rounds(u64::from(ROUNDS_BEYOND) + rounds.unwrap_or_default());
    TaskDescription { privacy: PrivacyChoice::Central(central), stop, ..calibrated }
}

/// Returns the epsilon that `versions` versions spend, or `None` for a task without privacy.
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
        for (rounds, cohort) in [(1, 1), (4, 7), (30, 10), (10_000, 200)] {
            assert_eq!(description(rounds, cohort, None).validate(), []);
            assert_eq!(description_with_page(rounds, cohort).validate(), []);
            let budget = PrivacyReport { epsilon: 8.0, delta: 1e-5 };
            let private = description(rounds, cohort, Some(budget));
            assert_eq!(private.validate(), []);
            if cohort >= 7 {
                let distributed = masked(private.clone());
                assert_eq!(distributed.validate(), []);
                assert!(distributed.privacy.distributed().is_some());
                assert!(spent(&distributed, u64::from(rounds)).is_some_and(|epsilon| epsilon <= 8.0));
                assert_eq!(masked(description(rounds, cohort, None)).validate(), []);
                assert_eq!(impatient(masked(description(rounds, cohort, None))).validate(), []);
            }
            assert!(spent(&private, u64::from(rounds)).is_some_and(|epsilon| epsilon <= 8.0));
            assert!(spent(&private, u64::from(rounds) + 1).is_some_and(|epsilon| epsilon > 8.0));
        }
    }
}
