//! Which examples each step sees.

use super::TrainingPlan;
use crate::random::permutation;

/// The order of the examples, as a function of the seed: nothing here has to be stored in a checkpoint.
#[derive(Debug)]
pub(super) struct BatchOrder {
    example_count: usize,
    batch_size: usize,
    steps_per_epoch: u64,
    steps_total: u64,
    seed: u64,
    epoch: u64,
    order: Vec<usize>,
}

impl BatchOrder {
    /// `example_count` is 1 or more and the plan valid.
    pub(super) fn new(plan: &TrainingPlan, example_count: usize, seed: u64) -> Self {
        let batch_size = plan.batch_size as usize;
        let steps_per_epoch = example_count.div_ceil(batch_size) as u64;
        let steps_max = plan.steps_max.map_or(u64::MAX, u64::from);
        let steps_total = steps_per_epoch.saturating_mul(u64::from(plan.epochs)).min(steps_max);
        let order = permutation(example_count, seed, 0);
        Self { example_count, batch_size, steps_per_epoch, steps_total, seed, epoch: 0, order }
    }

    /// The size of a batch that is not the last of its epoch.
    pub(super) fn full_batch(&self) -> usize {
        self.batch_size.min(self.example_count)
    }

    /// The size of the last batch of an epoch, if it is smaller.
    #[cfg(feature = "gpu")]
    pub(super) fn last_batch(&self) -> Option<usize> {
        let rest = self.example_count % self.batch_size;
        (rest > 0 && self.example_count > self.batch_size).then_some(rest)
    }

    /// The steps of the whole training.
    pub(super) fn steps_total(&self) -> u64 {
        self.steps_total
    }

    /// The examples of a step, counted from 0.
    pub(super) fn batch(&mut self, step: u64) -> &[usize] {
        let epoch = step / self.steps_per_epoch;
        if epoch != self.epoch {
            self.order = permutation(self.example_count, self.seed, epoch);
            self.epoch = epoch;
        }
        let start = (step % self.steps_per_epoch) as usize * self.batch_size;
        &self.order[start..self.example_count.min(start.saturating_add(self.batch_size))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{LocalOptimizer, Loss};

    fn plan(epochs: u32, steps_max: Option<u32>) -> TrainingPlan {
        let plan = TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.1));
        TrainingPlan { epochs, steps_max, batch_size: 4, ..plan }
    }

    #[test]
    fn an_epoch_sees_each_example_once() {
        let mut batches = BatchOrder::new(&plan(2, None), 10, 3);
        assert_eq!(batches.steps_total(), 6);
        for epoch in 0..2 {
            let mut seen: Vec<usize> =
                (0..3).flat_map(|step| batches.batch(epoch * 3 + step).to_vec()).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..10).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_step_limit_holds() {
        assert_eq!(BatchOrder::new(&plan(2, Some(5)), 10, 3).steps_total(), 5);
        assert_eq!(BatchOrder::new(&plan(u32::MAX, None), 10, 3).steps_total(), 3 * u64::from(u32::MAX));
    }
}
