//! Local training in steps that can be stopped and resumed.

mod batches;
mod check;
mod checkpoint;
mod difficulty;
mod error;
mod inspect;
mod learning_rate;
mod memory;
mod poisson;
mod trained_part;
mod trainer;
mod travelling;

pub use check::GradientCheck;
pub use checkpoint::CheckpointError;
pub use error::TrainError;
pub use inspect::{Cost, InspectedInput, InspectedParameter, InspectedRemark, Inspection, StepMemory};
pub use memory::TrainingMemory;
pub use trained_part::TrainedPart;
#[cfg(feature = "gpu")]
pub use trainer::Comparison;
pub use trainer::{Progress, Trainer, TrainingOutcome};
pub use travelling::Travelling;
