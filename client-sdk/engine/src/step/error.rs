//! Errors of a step.

use folkmoot_graph::op::ShapeError;
use folkmoot_graph::program::ExecuteError;
use folkmoot_onnx::ImportError;

use crate::evaluate::EvaluateError;
use crate::fit::FitError;

/// Why the CPU executor cannot compile or run a step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StepError {
    /// The loss depends on no trained weight, or the model does not allow per-example clipping.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The model does not allow a batch of this size.
    #[error(transparent)]
    Model(#[from] ImportError),
    /// The loss does not match the shape of the model's output.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The memory of the step cannot be allocated.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The step needs more memory than the plan allows.
    #[error(
        "a step with {batch_size} examples needs {needed} bytes of memory, but the plan allows {allowed}; use a \
         smaller batch_size"
    )]
    Memory {
        /// The number of examples in the step.
        batch_size: usize,
        /// The number of bytes that training would hold.
        needed: u64,
        /// The limit in bytes: the plan's `memory_bytes_max`.
        allowed: u64,
    },
}

impl From<EvaluateError> for StepError {
    fn from(error: EvaluateError) -> Self {
        match error {
            EvaluateError::Fit(error) => Self::Fit(error),
            EvaluateError::Model(error) => Self::Model(error),
            EvaluateError::Execute(error) => Self::Execute(error),
            EvaluateError::Memory { batch_size, needed, allowed } => {
                Self::Memory { batch_size, needed, allowed }
            }
        }
    }
}
