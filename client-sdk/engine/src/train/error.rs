//! Why training did not start or go on.

use super::{CheckpointError, PlanError};
use crate::batch::FitError;
use crate::cpu::ExecuteError;
use crate::graph::ShapeError;

/// Why training did not start or go on. None of these goes away by trying again with the same inputs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A number in the plan makes no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Examples or weights do not go with the model and the loss.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The loss does not go with the shape of the model's output.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// There is nothing to train on.
    #[error("there are no examples")]
    NoExamples,
    /// The bytes are no checkpoint, or not one of this training.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The loss or a weight became NaN or infinite: the learning rate is too large for the data.
    #[error("step {step} gave a loss or a weight that is not finite; a smaller learning rate may help")]
    Diverged {
        /// The step, counted from 1.
        step: u64,
    },
    /// A kernel failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}
