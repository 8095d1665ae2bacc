//! Runs training: step by step on the CPU, many steps at a time on a GPU.

use folkmoot_graph::step::block_on;

#[cfg(feature = "gpu")]
use super::step_request;
use super::{Progress, Trainer};
use crate::train::TrainError;

impl Trainer {
    /// Runs the next step. When training is finished, it does nothing and returns the same progress again.
    ///
    /// # Errors
    /// Returns [`TrainError::Diverged`] if the loss or a weight is no longer finite; the training is then lost. Returns
    /// [`TrainError::Memory`] if a smaller batch runs for the first time and its memory does not fit. Returns
    /// [`TrainError::NoSecretChance`] if the plan requires example privacy and [`Trainer::set_secret_chance`] was not
    /// called.
    pub fn step(&mut self) -> Result<Progress, TrainError> {
        self.advance(1)
    }

    /// Runs the next steps, up to `steps_max`. A GPU gets them in one submission, which is much faster than one by one.
    ///
    /// If the GPU fails, the steps since the last download of weights are lost. The progress can then be smaller than
    /// before, and training continues on the CPU.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::step`].
    pub fn advance(&mut self, steps_max: u64) -> Result<Progress, TrainError> {
        block_on(self.advance_async(steps_max))
    }

    /// Like [`Trainer::advance`], for browsers, where nothing may block. When training runs on the CPU, the future is
    /// never pending.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::step`].
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

    /// Trains for one step on exactly these examples. The plan's batch size, epochs and number of steps do not matter.
    /// On a GPU, the number of examples must be the batch size. If the plan accumulates gradients, the examples are
    /// computed in batches of the plan's size, otherwise all at once.
    ///
    /// The call counts as one of the plan's steps: [`Trainer::step`] skips the batch of that step.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if there are no rows, a row is out of range, or the plan requires example privacy. Also
    /// returns the errors of [`Trainer::step`].
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
