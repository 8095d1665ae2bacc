use super::UpdateMetrics;
use crate::{
    TrainingPlan, Work,
    limits::{COUNT_MAX, EXAMPLES_MAX, LOSS_MAX},
};

/// The largest metrics that an update may have: as much as the work of a plan can bring.
///
/// Every number is so small that the sums over a round fit a database's integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricBounds {
    /// The examples, at least.
    pub examples_min: u64,
    /// The examples, at most; an example counts once for each time it was used.
    pub examples_max: u64,
    /// The local steps, at most.
    pub steps_max: u64,
}

/// Why metrics cannot be.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MetricFault {
    /// The examples are too few or too many.
    #[error("example_count is {found}; this plan allows {min} to {max}")]
    Examples {
        /// The number in the update.
        found: u64,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// The steps are too many.
    #[error("step_count is {found}; this plan allows at most {max}")]
    Steps {
        /// The number in the update.
        found: u64,
        /// The most.
        max: u64,
    },
    /// More are right than there are.
    #[error("correct_count is {correct}, above the example_count of {examples}")]
    Correct {
        /// The number in the update.
        correct: u64,
        /// The examples.
        examples: u64,
    },
    /// The losses are not finite, below 0, or above what float32 can tell.
    #[error("loss_sum is {found:e}; it must be 0 to {max:e} for {examples} examples")]
    Loss {
        /// The number in the update.
        found: f64,
        /// The most.
        max: f64,
        /// The examples.
        examples: u64,
    },
}

impl MetricBounds {
    /// Derives the bounds from a plan. Metrics that are `withheld`, because privacy guards them, may be zero.
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
        // A NaN is in no range.
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

    /// Says what is wrong with metrics that `change` has changed.
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
