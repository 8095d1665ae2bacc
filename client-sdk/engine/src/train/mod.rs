//! Local training in steps that can be stopped and resumed.

mod batches;
mod check;
mod checkpoint;
mod clipping;
mod error;
mod inspect;
mod learning_rate;
mod memory;
mod optimizer;
mod parameters;
mod per_example;
mod step_program;
mod steps;
mod trainer;
mod update;

pub use check::GradientCheck;
pub use checkpoint::CheckpointError;
pub use error::TrainError;
pub use folkmoot_protocol::{
    GradientClipping, LearningRateSchedule, LocalOptimizer, Loss, NamePattern, PlanError, RunningStatistics,
    TrainingPlan,
};
pub use inspect::{Cost, InspectedParameter, Inspection, StepMemory};
pub use memory::TrainingMemory;
pub use trainer::{Progress, Trainer, TrainingOutcome};
