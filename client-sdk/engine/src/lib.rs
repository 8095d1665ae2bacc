#![doc = include_str!("../README.md")]

// What tests of the library and of its users share names the crate.
#[cfg(all(test, feature = "gpu"))]
extern crate self as folkmoot_engine;

mod autodiff;
mod batch;
mod cpu;
pub mod data;
mod evaluate;
mod examples;
mod fit;
#[cfg(feature = "gpu")]
mod gpu;
mod graph;
mod loss;
mod metrics;
mod model;
pub mod onnx;
mod op;
mod parameter;
mod processor;
mod program;
mod random;
mod safetensors;
mod schedule;
mod step;
mod train;

pub use evaluate::{EvaluateError, Evaluator, evaluate, evaluate_in_detail, evaluate_predictions};
pub use examples::{Examples, ExamplesError, Labels};
pub use fit::FitError;
pub use folkmoot_protocol::{
    ExamplePrivacy, GradientClipping, LearningRateSchedule, LocalOptimizer, Loss, NamePattern, OuterProducts,
    PlanError, Precision, RunningStatistics, TrainingPlan,
};
#[cfg(feature = "gpu")]
pub use gpu::{Adapter, AdapterPeak, AdapterReport, Clock, Gpu, GpuError, KernelTime};
pub use metrics::{
    ClassCounts, ClassificationSums, Evaluation, Metrics, RankCounts, RegressionSums, ScoreHistogram,
};
pub use model::Model;
pub use onnx::{ExportError, ImportError, ImportLimits, ModelNode};
pub use op::ShapeError;
pub use parameter::{ParameterKind, ParameterSpec};
pub use program::ExecuteError;
pub use safetensors::WeightsError;
pub use step::{SecretChance, block_on};
#[cfg(feature = "gpu")]
pub use train::Comparison;
pub use train::{
    CheckpointError, Cost, GradientCheck, InspectedParameter, Inspection, Progress, StepMemory, TrainError,
    TrainedPart, Trainer, TrainingMemory, TrainingOutcome,
};
