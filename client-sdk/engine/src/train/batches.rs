//! The examples of each step.

use folkmoot_graph::random::permute;
use folkmoot_protocol::{Curriculum, TrainingPlan};

use super::poisson;
use crate::step::SecretChance;

/// The order of the examples. It is a function of the seed, so checkpoints do not store it. With example privacy the
/// seed has no effect: each step samples its examples at random.
#[derive(Debug)]
pub(crate) struct BatchOrder {
    example_count: usize,
    batch_size: usize,
    /// The number of examples in every step except the last one of an epoch.
    step_size: usize,
    steps_per_epoch: u64,
    steps_total: u64,
    /// The number of steps on each batch.
    repeats: u64,
    seed: u64,
    epoch: u64,
    order: Vec<usize>,
    /// The pace of the plan, and the examples from easy to hard.
    curriculum: Option<(Curriculum, Vec<usize>)>,
}

impl BatchOrder {
    /// Creates the order. `example_count` must be 1 or more, and the plan valid.
    pub(crate) fn new(plan: &TrainingPlan, example_count: usize, seed: u64) -> Self {
        Self::in_memory(Vec::new(), plan, example_count, seed)
    }

    /// Starts over with another number of examples and another seed.
    pub(crate) fn restart(&mut self, plan: &TrainingPlan, example_count: usize, seed: u64) {
        *self = Self::in_memory(std::mem::take(&mut self.order), plan, example_count, seed);
    }

    fn in_memory(mut order: Vec<usize>, plan: &TrainingPlan, example_count: usize, seed: u64) -> Self {
        let batch_size = plan.batch_size as usize;
        let step_size = batch_size.saturating_mul(plan.accumulation_steps as usize);
        let steps_per_epoch = example_count.div_ceil(step_size) as u64;
        let steps_max = plan.steps_max.map_or(u64::MAX, u64::from);
        let steps = match plan.example_privacy {
            Some(_) => poisson::steps(plan, example_count, full_batch(batch_size, example_count)),
            None => steps_per_epoch.saturating_mul(u64::from(plan.epochs)),
        };
        let repeats = plan.personal_training.map_or(1, |one| u64::from(one.steps_per_batch()));
        let steps_total = steps.min(steps_max).saturating_mul(repeats);
        permute(&mut order, example_count, seed, 0);
        let (epoch, curriculum) = (0, None);
        Self {
            example_count,
            batch_size,
            step_size,
            steps_per_epoch,
            steps_total,
            repeats,
            seed,
            epoch,
            order,
            curriculum,
        }
    }

    /// Draws the examples of later steps by this pace from `ranking`, which has all examples from easy to hard.
    pub(crate) fn follow(&mut self, curriculum: Curriculum, ranking: Vec<usize>) {
        self.curriculum = Some((curriculum, ranking));
    }

    /// Returns the number of examples in every step except the last one of an epoch.
    pub(crate) fn step_examples(&self) -> usize {
        self.step_size.min(self.example_count)
    }

    /// Returns the maximum number of examples that are computed at once: the size of every batch except the last one of
    /// an epoch.
    pub(crate) fn full_batch(&self) -> usize {
        full_batch(self.batch_size, self.example_count)
    }

    /// Returns the size of an epoch's last batch, if it is smaller than a full batch.
    #[cfg(feature = "gpu")]
    pub(crate) fn last_batch(&self) -> Option<usize> {
        let rest = self.example_count % self.batch_size;
        (rest > 0 && self.example_count > self.batch_size).then_some(rest)
    }

    /// Returns the number of steps in the whole training run.
    pub(crate) fn steps_total(&self) -> u64 {
        self.steps_total
    }

    /// Returns the number of examples in all steps together, counting repeated examples each time.
    pub(crate) fn examples_total(&self) -> u64 {
        if self.curriculum.is_some() {
            return self.steps_total.saturating_mul(self.step_examples() as u64);
        }
        let batches = self.steps_total / self.repeats;
        let (passes, rest) = (batches / self.steps_per_epoch, batches % self.steps_per_epoch);
        passes
            .saturating_mul(self.example_count as u64)
            .saturating_add(rest.saturating_mul(self.step_size as u64))
            .saturating_mul(self.repeats)
    }

    /// Samples the examples of a step; the expected number is a full batch.
    pub(crate) fn draw(&mut self, chance: &mut dyn SecretChance) -> &[usize] {
        let expected = self.full_batch();
        poisson::draw_examples(&mut self.order, self.example_count, expected, chance);
        &self.order
    }

    /// Returns the examples of a step, counted from 0.
    pub(crate) fn batch(&mut self, step: u64) -> &[usize] {
        let step = step / self.repeats;
        if let Some((curriculum, ranking)) = &self.curriculum {
            let count = self.step_size.min(self.example_count);
            let pool = curriculum.pool(step, self.example_count).max(count);
            permute(&mut self.order, pool, self.seed, step);
            self.order.truncate(count);
            self.order.iter_mut().for_each(|place| *place = ranking[*place]);
            return &self.order;
        }
        let epoch = step / self.steps_per_epoch;
        if epoch != self.epoch {
            permute(&mut self.order, self.example_count, self.seed, epoch);
            self.epoch = epoch;
        }
        let start = (step % self.steps_per_epoch) as usize * self.step_size;
        &self.order[start..self.example_count.min(start.saturating_add(self.step_size))]
    }
}

/// Returns the maximum number of examples that are computed at once: the batch size, but no more than the number of
/// examples.
pub(crate) fn full_batch(batch_size: usize, example_count: usize) -> usize {
    batch_size.min(example_count)
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::*;

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
    fn a_step_of_several_batches_sees_the_examples_that_they_would() {
        let accumulating = TrainingPlan { accumulation_steps: 2, ..plan(2, None) };
        let (mut small, mut large) =
            (BatchOrder::new(&plan(2, None), 10, 3), BatchOrder::new(&accumulating, 10, 3));
        assert_eq!((large.steps_total(), large.full_batch()), (4, 4));
        for epoch in 0..2 {
            let batches: Vec<usize> =
                (0..3).flat_map(|step| small.batch(3 * epoch + step).to_vec()).collect();
            assert_eq!(large.batch(2 * epoch), &batches[..8]);
            assert_eq!(large.batch(2 * epoch + 1), &batches[8..]);
        }
        let endless = TrainingPlan { batch_size: u32::MAX, accumulation_steps: 1_000_000, ..plan(1, None) };
        assert_eq!(BatchOrder::new(&endless, 10, 3).batch(0).len(), 10);
    }

    #[test]
    fn a_restarted_order_is_a_new_one() {
        let mut restarted = BatchOrder::new(&plan(2, None), 10, 3);
        restarted.batch(5);
        restarted.restart(&plan(2, None), 7, 4);
        let mut new = BatchOrder::new(&plan(2, None), 7, 4);
        for step in 0..new.steps_total() {
            assert_eq!(restarted.batch(step), new.batch(step));
        }
        assert_eq!(restarted.steps_total(), 4);
    }

    #[test]
    fn a_curriculum_draws_from_the_easiest_examples() {
        let mut batches = BatchOrder::new(&plan(3, None), 10, 3);
        let ranking: Vec<usize> = (0..10).rev().collect();
        batches.follow(Curriculum { first_share: 0.5, steps: 5 }, ranking);
        assert_eq!((batches.steps_total(), batches.examples_total()), (9, 36));
        for step in [0, 1, 2, 5, 8, 1] {
            let rows = batches.batch(step).to_vec();
            let pool = 5 + step.min(5) as usize;
            let distinct: std::collections::BTreeSet<_> = rows.iter().collect();
            assert!(distinct.len() == 4 && rows.iter().all(|row| *row >= 10 - pool), "{step}: {rows:?}");
            assert_eq!(rows, batches.batch(step));
        }
        let mut few = BatchOrder::new(&plan(1, None), 3, 3);
        few.follow(Curriculum { first_share: 0.1, steps: 5 }, vec![2, 0, 1]);
        assert_eq!(few.batch(0).len(), 3);
    }

    #[test]
    fn the_step_limit_holds() {
        assert_eq!(BatchOrder::new(&plan(2, Some(5)), 10, 3).steps_total(), 5);
        assert_eq!(BatchOrder::new(&plan(u32::MAX, None), 10, 3).steps_total(), 3 * u64::from(u32::MAX));
    }
}
