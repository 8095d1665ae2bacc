//! Why a step cannot be compiled or taken.

use folkmoot_graph::op::ShapeError;
use folkmoot_graph::program::ExecuteError;
use folkmoot_onnx::ImportError;

use crate::fit::FitError;

/// Why a step cannot be compiled or taken on the processor.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StepError {
    /// The loss depends on no trained weight, or clipping does not go with the model.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The model does not allow a batch of this size.
    #[error(transparent)]
    Model(#[from] ImportError),
    /// The loss does not go with the shape of the model's output.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The memory of the step cannot be had.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The step needs more memory than the plan allows.
    #[error("a step with {batch_size} examples needs {needed} bytes of memory, the plan allows {allowed}")]
    Memory {
        /// The examples of the step.
        batch_size: usize,
        /// Bytes that the training would hold.
        needed: u64,
        /// The plan's `memory_bytes_max`.
        allowed: u64,
    },
}
