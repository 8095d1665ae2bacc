//! Errors of training.

use folkmoot_graph::op::ShapeError;
use folkmoot_graph::program::ExecuteError;
use folkmoot_onnx::ImportError;
use folkmoot_protocol::PlanError;

use super::CheckpointError;
use crate::evaluate::EvaluateError;
use crate::fit::FitError;
use crate::step::StepError;

/// Why training did not start or continue. Retrying with the same inputs does not help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A number in the plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Examples or weights do not match the model and the plan.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The model does not allow a batch of this size.
    #[error(transparent)]
    Model(#[from] ImportError),
    /// The loss does not match the shape of the model's output.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// There are no examples to train on.
    #[error("there are no examples to train on; add some")]
    NoExamples,
    /// A step was requested for an example that does not exist.
    #[error("example {index} does not exist; the data set has {examples} examples")]
    NoSuchExample {
        /// The requested index, counted from 0.
        index: usize,
        /// The number of examples.
        examples: usize,
    },
    /// The plan requires mixed precision, but training runs on the CPU.
    #[error("the plan requires mixed precision, which needs a GPU with 16-bit floats; train on such a GPU")]
    NoHalfPrecision,
    /// The plan requires example privacy, but no secret random number generator was set.
    #[error(
        "the plan requires example privacy, which needs secret randomness; call Trainer::set_secret_chance first"
    )]
    NoSecretChance,
    /// A step on chosen examples was requested, but the plan requires example privacy.
    #[error(
        "the plan requires example privacy, so steps sample their own examples; do not choose them yourself"
    )]
    DrawnBySteps,
    /// The bytes are not a checkpoint, or not one of this training run.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A step needs more memory than the plan allows.
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
    /// The loss or a weight became NaN or infinite, usually because the learning rate is too large for the data.
    #[error("the loss or a weight is NaN or infinite after step {step}; try a smaller learning rate")]
    Diverged {
        /// The step, counted from 1.
        step: u64,
    },
    /// The GPU failed, or cannot run the plan.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] folkmoot_gpu::GpuError),
    /// The step cannot be compiled.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

impl From<EvaluateError> for TrainError {
    fn from(error: EvaluateError) -> Self {
        StepError::from(error).into()
    }
}

impl From<StepError> for TrainError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Fit(error) => Self::Fit(error),
            StepError::Model(error) => Self::Model(error),
            StepError::Shape(error) => Self::Shape(error),
            StepError::Execute(error) => Self::Execute(error),
            StepError::Memory { batch_size, needed, allowed } => Self::Memory { batch_size, needed, allowed },
        }
    }
}
