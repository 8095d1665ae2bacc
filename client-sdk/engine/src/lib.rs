#![doc = include_str!("../README.md")]

mod autodiff;
mod batch;
mod cpu;
pub mod data;
mod evaluate;
mod examples;
mod graph;
mod metrics;
mod model;
pub mod onnx;
mod random;
#[cfg(feature = "tract")]
mod tract;
mod train;

pub use batch::FitError;
pub use cpu::ExecuteError;
pub use evaluate::{EvaluateError, evaluate};
pub use examples::{Examples, ExamplesError, Labels};
pub use graph::ShapeError;
pub use metrics::Metrics;
pub use model::{Model, ParameterSpec};
pub use onnx::{ExportError, ImportError, ImportLimits};
#[cfg(feature = "tract")]
pub use tract::{InferenceError, InferenceModel};
pub use train::{
    CheckpointError, LocalOptimizer, Loss, PlanError, Progress, TrainError, Trainer, TrainingOutcome,
    TrainingPlan,
};
