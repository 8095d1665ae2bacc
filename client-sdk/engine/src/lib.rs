#![doc = include_str!("../README.md")]

mod augmentation;
mod batch;
pub mod data;
mod evaluate;
mod examples;
mod fit;
#[cfg(all(test, feature = "gpu"))]
mod gpu_tests;
mod model;
mod processor;
mod safetensors;
mod step;
mod train;

pub use evaluate::{EvaluateError, Evaluator, evaluate, evaluate_in_detail, evaluate_predictions};
pub use examples::{Examples, ExamplesError, Labels};
pub use fit::FitError;
#[cfg(feature = "gpu")]
pub use folkmoot_gpu::{Adapter, AdapterPeak, AdapterReport, Clock, Gpu, GpuError, KernelTime};
pub use folkmoot_graph::op::ShapeError;
pub use folkmoot_graph::program::ExecuteError;
pub use folkmoot_graph::step::block_on;
pub use folkmoot_loss::metrics::{
    ClassCounts, ClassificationSums, Evaluation, Metrics, RankCounts, RegressionSums, ScoreHistogram,
    sum_shapes,
};
pub use folkmoot_onnx::{
    self as onnx, ExportError, FinalActivation, ImportError, ImportLimits, Lookup, Lookups, ModelNode,
    ModelOutput, Obstacle, ParameterKind, ParameterSpec, Remark,
};
pub use folkmoot_protocol::{
    Augmentation, Curriculum, ExamplePrivacy, GradientClipping, L1, LearningRateSchedule, LocalOptimizer,
    Loss, ModelContrast, NamePattern, OuterProducts, PersonalTraining, PlanError, Precision,
    RunningStatistics, SharpnessAware, SmallLossSelection, StretchMask, TrainingPlan, ValueRange,
};
#[cfg(feature = "complete")]
pub use model::InnerValue;
pub use model::Model;
pub use safetensors::WeightsError;
pub use step::SecretChance;
#[cfg(feature = "gpu")]
pub use train::Comparison;
pub use train::{
    CheckpointError, Cost, GradientCheck, InspectedInput, InspectedParameter, InspectedRemark, Inspection,
    Progress, StepMemory, TrainError, TrainedPart, Trainer, TrainingMemory, TrainingOutcome, Travelling,
};
