//! The learning rate of each step.

use folkmoot_protocol::{LearningRateSchedule, TrainingPlan};

/// Returns the learning rate of a local step, counted from 0: the optimizer's, times the factor of the warm-up or of
/// the schedule.
pub(crate) fn learning_rate(plan: &TrainingPlan, step: u64) -> f32 {
    let warmup_steps = u64::from(plan.warmup_steps);
    let factor = match step.checked_sub(warmup_steps) {
        None => (step + 1) as f64 / warmup_steps as f64,
        Some(step) => schedule_factor(plan.learning_rate_schedule, step),
    };
    (f64::from(plan.optimizer.learning_rate()) * factor) as f32
}

/// Returns the factor of a step, counted from 0 after the warm-up.
fn schedule_factor(schedule: LearningRateSchedule, step: u64) -> f64 {
    let progress = |steps: u32| (step as f64 / f64::from(steps)).min(1.0);
    match schedule {
        LearningRateSchedule::Constant => 1.0,
        LearningRateSchedule::Linear { final_factor, steps } => {
            1.0 + (f64::from(final_factor) - 1.0) * progress(steps)
        }
        LearningRateSchedule::Cosine { final_factor, steps } => {
            let last = f64::from(final_factor);
            last + (1.0 - last) * (1.0 + (std::f64::consts::PI * progress(steps)).cos()) / 2.0
        }
        LearningRateSchedule::Step { factor, every } => {
            f64::from(factor).powf((step / u64::from(every)) as f64)
        }
        LearningRateSchedule::Exponential { factor } => f64::from(factor).powf(step as f64),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::*;

    fn rates<const N: usize>(schedule: LearningRateSchedule, warmup_steps: u32, steps: [u64; N]) -> [f32; N] {
        let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
        let plan = TrainingPlan { learning_rate_schedule: schedule, warmup_steps, ..plan };
        steps.map(|step| learning_rate(&plan, step))
    }

    #[test]
    fn schedules_by_hand() {
        let constant = LearningRateSchedule::Constant;
        assert_eq!(rates(constant, 0, [0, 1, u64::MAX]), [0.5; 3]);
        let linear = LearningRateSchedule::Linear { final_factor: 0.5, steps: 4 };
        assert_eq!(rates(linear, 0, [0, 2, 4, 9]), [0.5, 0.375, 0.25, 0.25]);
        let cosine = LearningRateSchedule::Cosine { final_factor: 0.5, steps: 4 };
        assert_eq!(rates(cosine, 0, [0, 2, 4, 9]), [0.5, 0.375, 0.25, 0.25]);
        let step = LearningRateSchedule::Step { factor: 0.5, every: 3 };
        assert_eq!(rates(step, 0, [0, 2, 3, 6]), [0.5, 0.5, 0.25, 0.125]);
        let exponential = LearningRateSchedule::Exponential { factor: 0.5 };
        assert_eq!(rates(exponential, 0, [0, 1, 2]), [0.5, 0.25, 0.125]);
    }

    #[test]
    fn the_schedule_begins_after_the_warmup() {
        let exponential = LearningRateSchedule::Exponential { factor: 0.5 };
        assert_eq!(rates(exponential, 4, [0, 1, 3, 4, 5]), [0.125, 0.25, 0.5, 0.5, 0.25]);
    }
}
