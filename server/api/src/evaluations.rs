//! Evaluations of model versions.

use std::collections::BTreeMap;

use folkmoot_protocol::{ClassReport, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One evaluation of a model version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvaluationView {
    /// The number of the version.
    pub version: u64,
    /// `central` (on the operator's examples), `federated` (on the clients' examples), or `fine_tuned` (on the clients' examples,
    /// each after fine-tuning the version on others of its own).
    pub source: String,
    /// The number of clients that evaluated the version; 0 for a central evaluation.
    pub client_count: u64,
    /// The number of evaluated examples. Null for a federated evaluation in a population where a private task runs or
    /// has run.
    pub example_count: Option<u64>,
    /// The mean loss over the evaluated examples. Null for a federated evaluation of a task with `privacy`.
    pub mean_loss: Option<f64>,
    /// The share of the evaluated examples that the version classified correctly, 0 to 1. Null for a federated
    /// evaluation of a task with `privacy`.
    pub accuracy: Option<f64>,
    /// All metrics that were measured, by their names in task files, for example `f1_macro`. Empty for a federated
    /// evaluation of a task with `privacy`.
    pub metrics: BTreeMap<String, f64>,
    /// Why a federated evaluation has only `accuracy` and `loss`, for people. Null if it has all metrics, for a central
    /// evaluation, and for a task with `privacy`.
    #[serde(default)]
    pub metrics_missing: Option<String>,
    /// The task's metric, which decides the best version.
    pub metric: String,
    /// True if no version evaluated by the same source scores better on the task's metric.
    pub is_best: bool,
    /// The same metrics for each slice of the clients. Slices with too few clients are omitted.
    pub slices: Vec<SliceView>,
    /// When the evaluation was recorded.
    pub created_at: Timestamp,
}

/// One evaluation of a version, class by class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassEvaluationView {
    /// The evaluation.
    pub evaluation: EvaluationView,
    /// The predictions of each class. Null if labels are not classes or `metrics_missing` has a reason. Also null for a
    /// federated evaluation in a population where a private task runs or has run.
    pub classes: Option<ClassReport>,
}

/// The evaluation results of the clients that have one value of an attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SliceView {
    /// The slice, as `attribute=value`.
    pub slice: String,
    /// The number of clients in the slice that evaluated the version.
    pub client_count: u64,
    /// The number of evaluated examples. Null in a population where a private task runs or has run.
    pub example_count: Option<u64>,
    /// The mean loss over the evaluated examples. Null for a task with `privacy`.
    pub mean_loss: Option<f64>,
    /// The share of the evaluated examples that the version classified correctly, 0 to 1. Null for a task with
    /// `privacy`.
    pub accuracy: Option<f64>,
    /// All metrics that were measured, by their names in task files. Empty for a task with `privacy`.
    #[serde(default)]
    #[schema(required)]
    pub metrics: BTreeMap<String, f64>,
}
