use super::UpdateMetrics;
use crate::{
    TrainingPlan, Work,
    limits::{COUNT_MAX, EXAMPLES_MAX, LOSS_MAX},
};

/// Bounds on the metrics of an update. The upper bounds are the largest numbers that a plan's work can produce.
///
/// All bounds are low enough that sums over a round fit a database's integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricBounds {
    /// The minimum number of examples.
    pub examples_min: u64,
    /// The maximum number of examples. An example is counted each time it is used.
    pub examples_max: u64,
    /// The maximum number of local steps.
    pub steps_max: u64,
}

/// Why metrics are impossible.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MetricFault {
    /// There are too few or too many examples.
    #[error("example_count is {found}; this plan allows {min} to {max}")]
    Examples {
        /// The number in the update.
        found: u64,
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// There are too many steps.
    #[error("step_count is {found}; this plan allows at most {max}")]
    Steps {
        /// The number in the update.
        found: u64,
        /// The maximum.
        max: u64,
    },
    /// There are more correct predictions than examples.
    #[error("correct_count is {correct}, above the example_count of {examples}")]
    Correct {
        /// The number in the update.
        correct: u64,
        /// The number of examples.
        examples: u64,
    },
    /// The loss sum is not finite, negative, or above the range of float32.
    #[error("loss_sum is {found:e}; it must be 0 to {max:e} for {examples} examples")]
    Loss {
        /// The number in the update.
        found: f64,
        /// The maximum.
        max: f64,
        /// The number of examples.
        examples: u64,
    },
}

impl MetricBounds {
    /// Derives the bounds from a plan. If metrics are `withheld` for privacy, they may be zero.
    pub fn of(plan: &TrainingPlan, work: Work, withheld: bool) -> Self {
        let in_steps = match (work, plan.steps_max, plan.example_privacy) {
            // With example privacy a step may draw any number of examples.
            (Work::Training, Some(steps), None) => u64::from(steps)
                .saturating_mul(u64::from(plan.batch_size))
                .saturating_mul(u64::from(plan.accumulation_steps)),
            _ => EXAMPLES_MAX,
        };
        Self {
            examples_min: u64::from(!withheld),
            examples_max: in_steps.min(EXAMPLES_MAX),
            steps_max: match work {
                Work::Training => plan.steps_max.map_or(COUNT_MAX, u64::from),
                Work::Evaluation => COUNT_MAX,
            },
        }
    }

    /// Checks metrics.
    ///
    /// # Errors
    /// The first [`MetricFault`].
    pub fn check(&self, metrics: &UpdateMetrics) -> Result<(), MetricFault> {
        let UpdateMetrics { example_count, loss_sum, correct_count, step_count } = *metrics;
        if !(self.examples_min..=self.examples_max).contains(&example_count) {
            let (min, max) = (self.examples_min, self.examples_max);
            return Err(MetricFault::Examples { found: example_count, min, max });
        }
        if step_count > self.steps_max {
            return Err(MetricFault::Steps { found: step_count, max: self.steps_max });
        }
        if correct_count > example_count {
            return Err(MetricFault::Correct { correct: correct_count, examples: example_count });
        }
        let max = example_count as f64 * LOSS_MAX;
        // NaN is in no range.
        if !(0.0..=max).contains(&loss_sum) {
            return Err(MetricFault::Loss { found: loss_sum, max, examples: example_count });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LocalOptimizer, Loss};

    fn plan() -> TrainingPlan {
        TrainingPlan {
            batch_size: 8,
            ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1))
        }
    }

    fn metrics() -> UpdateMetrics {
        UpdateMetrics { example_count: 10, loss_sum: 2.5, correct_count: 7, step_count: 2 }
    }

    /// Returns the fault after `change` has changed valid metrics.
    fn fault(bounds: MetricBounds, change: impl FnOnce(&mut UpdateMetrics)) -> Option<MetricFault> {
        let mut changed = metrics();
        change(&mut changed);
        bounds.check(&changed).err()
    }

    #[test]
    fn metrics_are_what_a_training_can_bring() {
        let bounds = MetricBounds::of(&plan(), Work::Training, false);
        assert_eq!(bounds.check(&metrics()), Ok(()));
        for count in [0, EXAMPLES_MAX + 1, COUNT_MAX + 1, i64::MAX as u64, 1 << 63, u64::MAX] {
            let found = fault(bounds, |metrics| metrics.example_count = count);
            assert!(matches!(found, Some(MetricFault::Examples { .. })), "{count}: {found:?}");
        }
        for count in [COUNT_MAX + 1, 1 << 63, u64::MAX] {
            let found = fault(bounds, |metrics| metrics.step_count = count);
            assert!(matches!(found, Some(MetricFault::Steps { .. })), "{count}: {found:?}");
        }
        for loss in [-1e-300, -1e5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, 11.0 * LOSS_MAX] {
            let found = fault(bounds, |metrics| metrics.loss_sum = loss);
            assert!(matches!(found, Some(MetricFault::Loss { .. })), "{loss}: {found:?}");
        }
        assert!(matches!(
            fault(bounds, |metrics| metrics.correct_count = 11),
            Some(MetricFault::Correct { .. })
        ));
        assert_eq!(fault(bounds, |metrics| metrics.loss_sum = 10.0 * LOSS_MAX), None);
        assert_eq!(fault(bounds, |metrics| metrics.loss_sum = -0.0), None);
    }

    #[test]
    fn the_plan_bounds_steps_and_examples() {
        let plan = TrainingPlan { steps_max: Some(3), accumulation_steps: 2, ..plan() };
        let bounds = MetricBounds::of(&plan, Work::Training, false);
        assert_eq!((bounds.examples_max, bounds.steps_max), (48, 3));
        let evaluation = MetricBounds::of(&plan, Work::Evaluation, false);
        assert_eq!((evaluation.examples_max, evaluation.steps_max), (EXAMPLES_MAX, COUNT_MAX));
    }

    #[test]
    fn metrics_that_privacy_guards_may_be_zero() {
        let withheld = MetricBounds::of(&plan(), Work::Training, true);
        assert_eq!(withheld.check(&UpdateMetrics::default()), Ok(()));
        assert_eq!(withheld.check(&metrics()), Ok(()));
        let told = MetricBounds::of(&plan(), Work::Training, false);
        assert!(told.check(&UpdateMetrics::default()).is_err());
    }
}
