//! Local training in steps that can be stopped and resumed.

mod checkpoint;
mod error;
mod schedule;
mod sgd;
mod trainer;

pub use checkpoint::CheckpointError;
pub use error::TrainError;
pub use folkmoot_protocol::{LocalOptimizer, Loss, PlanError, TrainingPlan};
pub use trainer::{Progress, Trainer, TrainingOutcome};
