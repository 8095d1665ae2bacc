//! What a framework must do to be measured.

use crate::Failure;

/// A framework with a model, its weights and batches.
pub trait Executor {
    /// Does a whole step (forward, backward, update) and returns the loss of its batch before the update.
    fn step(&mut self) -> Result<f64, Failure>;

    /// As [`Executor::step`], on the batch that every executor has: losses can be compared.
    fn step_on_first_batch(&mut self) -> Result<f64, Failure> {
        self.step()
    }
}
