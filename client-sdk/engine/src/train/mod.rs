//! Local training in steps that can be stopped and resumed.

mod accumulator;
mod advance;
mod batches;
mod check;
mod checkpoint;
mod clipping;
#[cfg(feature = "gpu")]
mod comparison;
mod dense_slopes;
mod error;
mod inspect;
mod learning_rate;
mod memory;
mod on_cpu;
#[cfg(feature = "gpu")]
mod on_gpu;
mod optimizer;
mod parameters;
mod per_example;
mod poisson;
mod private_step;
mod private_sum;
mod recorder;
mod recording;
mod restart;
mod secret_chance;
mod step_graph;
mod step_program;
mod steps;
#[cfg(test)]
mod testing;
mod trained_part;
mod trainer;
mod update;

pub use advance::block_on;
pub use check::GradientCheck;
pub use checkpoint::CheckpointError;
#[cfg(feature = "gpu")]
pub use comparison::Comparison;
pub use error::TrainError;
pub use inspect::{Cost, InspectedParameter, Inspection, StepMemory};
#[cfg(feature = "gpu")]
pub(crate) use learning_rate::learning_rate;
pub use memory::TrainingMemory;
#[cfg(all(test, feature = "gpu"))]
pub(crate) use parameters::Parameters;
pub use secret_chance::SecretChance;
#[cfg(feature = "gpu")]
pub(crate) use step_graph::{StepForm, StepGraph};
#[cfg(feature = "gpu")]
pub(crate) use steps::StepSource;
pub use trained_part::TrainedPart;
pub use trainer::{Progress, Trainer, TrainingOutcome};
