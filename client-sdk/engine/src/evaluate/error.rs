use folkmoot_graph::program::ExecuteError;
use folkmoot_onnx::ImportError;

use crate::fit::FitError;

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// Examples or weights do not match the model and the loss.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The model does not allow a batch of this size.
    #[error(transparent)]
    Model(#[from] ImportError),
    /// The model cannot be compiled.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// A batch needs more memory than [`Evaluator::limit_memory`](super::Evaluator::limit_memory) allows.
    #[error(
        "a batch of {batch_size} examples needs {needed} bytes of memory, but only {allowed} are allowed; use a \
         smaller batch, or raise the limit"
    )]
    Memory {
        /// The number of examples in the batch.
        batch_size: usize,
        /// The number of bytes that the weights and the compiled batch would take.
        needed: u64,
        /// The limit in bytes.
        allowed: u64,
    },
}
