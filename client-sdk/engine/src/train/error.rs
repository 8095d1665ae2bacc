//! Why training did not start or go on.

use folkmoot_graph::op::ShapeError;
use folkmoot_graph::program::ExecuteError;
use folkmoot_onnx::ImportError;
use folkmoot_protocol::PlanError;

use super::CheckpointError;
use crate::fit::FitError;
use crate::step::StepError;

/// Why training did not start or go on. None of these goes away by trying again with the same inputs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A number in the plan makes no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Examples or weights do not go with the model and the plan.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The model does not allow a batch of this size.
    #[error(transparent)]
    Model(#[from] ImportError),
    /// The loss does not go with the shape of the model's output.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// There is nothing to train on.
    #[error("there are no examples")]
    NoExamples,
    /// A step was asked for on an example that is not there.
    #[error("there is no example {index}, there are {examples}")]
    NoSuchExample {
        /// What was asked for, counted from 0.
        index: usize,
        /// How many there are.
        examples: usize,
    },
    /// The plan asks for mixed precision, and the training runs on the CPU.
    #[error("the plan asks for mixed precision, which needs a graphics processor with 16-bit numbers")]
    NoHalfPrecision,
    /// The plan asks for example privacy, and there is nothing to draw its coins and its noise from.
    #[error(
        "the plan asks for example privacy, which needs secret chance: Trainer::set_secret_chance gives it"
    )]
    NoSecretChance,
    /// A step with example privacy was asked for on certain examples.
    #[error("with example privacy a step draws its examples itself; without it they can be named")]
    DrawnBySteps,
    /// The bytes are no checkpoint, or not one of this training.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A step needs more memory than the plan allows.
    #[error("a step with {batch_size} examples needs {needed} bytes of memory, the plan allows {allowed}")]
    Memory {
        /// The examples of the step.
        batch_size: usize,
        /// Bytes that the training would hold.
        needed: u64,
        /// The plan's `memory_bytes_max`.
        allowed: u64,
    },
    /// The loss or a weight became NaN or infinite: the learning rate is too large for the data.
    #[error("step {step} gave a loss or a weight that is not finite; a smaller learning rate may help")]
    Diverged {
        /// The step, counted from 1.
        step: u64,
    },
    /// The graphics processor cannot do what it was asked for.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] folkmoot_gpu::GpuError),
    /// The step cannot be compiled.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
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
