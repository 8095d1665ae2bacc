//! How a training goes on: step by step on the CPU, many steps at a time on a device.

use folkmoot_graph::step::block_on;

#[cfg(feature = "gpu")]
use super::step_request;
use super::{Progress, Trainer};
use crate::train::TrainError;

impl Trainer {
    /// Takes the next step. When training is finished it does nothing and reports the same progress again.
    ///
    /// # Errors
    /// Returns [`TrainError::Diverged`] if the loss or a weight is no longer finite; the training is then lost.
    /// Returns [`TrainError::Memory`] if this is the first smaller batch, and there is no memory for it, and
    /// [`TrainError::NoSecretChance`] if the plan asks for example privacy and [`Trainer::set_secret_chance`] was not called.
    pub fn step(&mut self) -> Result<Progress, TrainError> {
        self.advance(1)
    }

    /// Takes the next steps, up to `steps_max`. On a device they are sent together, which is much faster than
    /// one by one.
    ///
    /// A device that fails on the way costs the steps since its weights last came back: the progress may be smaller than
    /// before, and the training goes on on the CPU.
    ///
    /// # Errors
    /// Those of [`Trainer::step`].
    pub fn advance(&mut self, steps_max: u64) -> Result<Progress, TrainError> {
        block_on(self.advance_async(steps_max))
    }

    /// As [`Trainer::advance`], for a browser, where nothing may block. On the CPU it is never pending.
    ///
    /// # Errors
    /// Those of [`Trainer::step`].
    pub async fn advance_async(&mut self, steps_max: u64) -> Result<Progress, TrainError> {
        let goal = self.metrics.step_count.saturating_add(steps_max).min(self.batches.steps_total());
        while self.metrics.step_count < goal {
            #[cfg(feature = "gpu")]
            if self.gpu.is_some() {
                self.advance_on_gpu(goal).await?;
                continue;
            }
            self.step_on_processor(&mut |_, _| {}).await?;
        }
        Ok(self.progress())
    }

    /// Trains in one step on exactly these of the examples, whatever the plan's batch size, epochs and steps are. On a
    /// device there have to be as many as in a batch. Where the plan accumulates gradients they are computed in its batch
    /// size, elsewhere all at once.
    ///
    /// It counts as one of the plan's steps: [`Trainer::step`] then leaves out the batch that it would have trained on.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if there are no rows, one behind the last, or the plan asks for example privacy; and the errors
    /// of [`Trainer::step`].
    pub fn step_on(&mut self, rows: &[usize]) -> Result<Progress, TrainError> {
        if self.plan.example_privacy.is_some() {
            return Err(TrainError::DrawnBySteps);
        }
        if rows.is_empty() {
            return Err(TrainError::NoExamples);
        }
        if let Some(index) = rows.iter().copied().find(|row| *row >= self.examples.len()) {
            return Err(TrainError::NoSuchExample { index, examples: self.examples.len() });
        }
        #[cfg(feature = "gpu")]
        if self.gpu.is_some() {
            let request = step_request(&self.plan, self.seed, self.metrics.step_count, rows.into());
            block_on(self.run_on_gpu(vec![request]))?;
            if self.gpu.is_some() {
                return Ok(self.progress());
            }
        }
        block_on(self.train_on(rows))?;
        Ok(self.progress())
    }
}
