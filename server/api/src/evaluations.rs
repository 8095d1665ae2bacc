//! What was measured of model versions.

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What was measured of a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvaluationView {
    /// The version.
    pub version: u64,
    /// `central` (on the operator's examples) or `federated` (on the clients').
    pub source: String,
    /// How many clients measured; 0 for the operator's examples.
    pub client_count: u64,
    /// Over how many examples. Null of clients' examples where a task with privacy runs or has run.
    pub example_count: Option<u64>,
    /// Their mean loss; none of clients' examples of a task with `privacy`.
    pub mean_loss: Option<f64>,
    /// The share of them that was predicted right; none of clients' examples of a task with `privacy`.
    pub accuracy: Option<f64>,
    /// Says that no version of this source is better by the task's metric.
    pub is_best: bool,
    /// The same by slice, `attribute=value`: slices of too few clients are left out.
    pub slices: Vec<SliceView>,
    /// When.
    pub created_at: Timestamp,
}

/// What was measured on some of the clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SliceView {
    /// `attribute=value`.
    pub slice: String,
    /// How many clients measured.
    pub client_count: u64,
    /// Over how many examples. Null where a task with privacy runs or has run.
    pub example_count: Option<u64>,
    /// Their mean loss; none of a task with `privacy`.
    pub mean_loss: Option<f64>,
    /// The share of them that was predicted right; none of a task with `privacy`.
    pub accuracy: Option<f64>,
}
