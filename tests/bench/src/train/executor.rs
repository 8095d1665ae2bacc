//! The interface of each measured framework.

use crate::Failure;

/// A framework with a model, its weights and batches.
pub trait Executor {
    /// Performs a complete step (forward, backward, update) and returns the loss of the step's batch before the update.
    fn step(&mut self) -> Result<f64, Failure>;

    /// Performs a step on the batch that all executors share, so that the losses can be compared.
    fn step_on_first_batch(&mut self) -> Result<f64, Failure> {
        self.step()
    }
}
