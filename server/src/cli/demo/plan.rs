//! The task that the demo trains.

use folkmoot_coordinator::{
    scheduling::{SchedulingChoice, Synchronous},
    task::{StopConditions, TaskDescription},
};
use folkmoot_protocol::{LocalOptimizer, Loss, PopulationName, TrainingPlan};

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

/// Returns the population's name.
pub fn population() -> PopulationName {
    NAME.parse().expect("it begins with a letter and has no others")
}

/// Describes the task: federated averaging in synchronous rounds, without spares, since all clients are near.
pub fn description(rounds: u32, cohort: u32) -> TaskDescription {
    let synchronous = Synchronous {
        report_goal: u64::from(cohort),
        over_selection_factor: 1.0,
        minimum_cohort: None,
        selection_deadline_seconds: DEADLINE_SECONDS,
        reporting_deadline_seconds: DEADLINE_SECONDS,
    };
    let scheduling = SchedulingChoice::Synchronous(synchronous);
    let stop = StopConditions::after_rounds(u64::from(rounds));
    TaskDescription::new(NAME, population(), training(), scheduling, stop)
}

fn training() -> TrainingPlan {
    let optimizer = LocalOptimizer::Sgd {
        learning_rate: LEARNING_RATE,
        momentum: MOMENTUM,
        nesterov: false,
        weight_decay: 0.0,
    };
    let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, optimizer);
    TrainingPlan { epochs: EPOCHS, batch_size: BATCH_SIZE, ..plan }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_one_that_the_coordinator_takes() {
        for (rounds, cohort) in [(1, 1), (30, 10), (10_000, 200)] {
            assert_eq!(description(rounds, cohort).validate(), []);
        }
    }
}
