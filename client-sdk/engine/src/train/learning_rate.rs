//! The learning rate of each step.

use folkmoot_protocol::{LearningRateSchedule, TrainingPlan};

/// Returns the learning rate of a local step, counted from 0: the optimizer's, times the factor of the explicit list, of
/// the warm-up or of the schedule.
pub(crate) fn learning_rate(plan: &TrainingPlan, step: u64) -> f32 {
    let warmup_steps = u64::from(plan.warmup_steps);
    let factors = &plan.learning_rate_factors;
    let explicit = factors.get(usize::try_from(step).unwrap_or(usize::MAX)).or(factors.last());
    let factor = match (explicit, step.checked_sub(warmup_steps), plan.warmup_from) {
        (Some(factor), ..) => f64::from(*factor),
        (None, None, Some(from)) => {
            let from = f64::from(from);
            from + (1.0 - from) * step as f64 / warmup_steps as f64
        }
        (None, None, None) => (step + 1) as f64 / warmup_steps as f64,
        (None, Some(step), _) => schedule_factor(plan.learning_rate_schedule, step),
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
    fn a_warmup_with_a_first_factor_reaches_the_full_rate_once() {
        let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
        let learning_rate_schedule = LearningRateSchedule::Exponential { factor: 0.5 };
        let plan = TrainingPlan { learning_rate_schedule, warmup_steps: 4, ..plan };
        let rates = |from| {
            let plan = TrainingPlan { warmup_from: Some(from), ..plan.clone() };
            [0, 1, 3, 4, 5].map(|step| learning_rate(&plan, step))
        };
        assert_eq!(rates(0.0), [0.0, 0.125, 0.375, 0.5, 0.25]);
        assert_eq!(rates(0.5), [0.25, 0.3125, 0.4375, 0.5, 0.25]);
    }

    #[test]
    fn explicit_factors_apply_step_by_step_and_the_last_one_stays() {
        let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
        let plan = TrainingPlan { learning_rate_factors: vec![0.5, 2.0, 0.0], ..plan };
        assert_eq!([0, 1, 2, 3, u64::MAX].map(|step| learning_rate(&plan, step)), [0.25, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn the_schedule_begins_after_the_warmup() {
        let exponential = LearningRateSchedule::Exponential { factor: 0.5 };
        assert_eq!(rates(exponential, 4, [0, 1, 3, 4, 5]), [0.125, 0.25, 0.5, 0.5, 0.25]);
    }
}
