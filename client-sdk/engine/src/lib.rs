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
mod forward;
#[cfg(feature = "gpu")]
mod gpu;
mod graph;
mod loss;
mod metrics;
mod model;
pub mod onnx;
mod predict;
mod random;
mod safetensors;
mod schedule;
mod train;

pub use cpu::ExecuteError;
pub use evaluate::{EvaluateError, Evaluator, evaluate, evaluate_in_detail, evaluate_predictions};
pub use examples::{Examples, ExamplesError, Labels};
pub use fit::FitError;
#[cfg(feature = "gpu")]
pub use gpu::{Adapter, AdapterPeak, AdapterReport, Clock, Gpu, GpuError, KernelTime};
pub use graph::ShapeError;
pub use metrics::{
    ClassCounts, ClassificationSums, Evaluation, Metrics, RankCounts, RegressionSums, ScoreHistogram,
};
pub use model::{Model, ModelNode, ParameterKind, ParameterSpec, WeightsError};
pub use onnx::{ExportError, ImportError, ImportLimits};
#[cfg(feature = "gpu")]
pub use train::Comparison;
pub use train::{
    CheckpointError, Cost, ExamplePrivacy, GradientCheck, GradientClipping, InspectedParameter, Inspection,
    LearningRateSchedule, LocalOptimizer, Loss, NamePattern, OuterProducts, PlanError, Precision, Progress,
    RunningStatistics, SecretChance, StepMemory, TrainError, TrainedPart, Trainer, TrainingMemory,
    TrainingOutcome, TrainingPlan, block_on,
};
