//! Models that tasks train.

use std::collections::BTreeMap;

use folkmoot_protocol::{BlobDigest, TensorSchema, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A model that was read, checked and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    /// The ONNX file's digest, by which tasks name it.
    pub model: BlobDigest,
    /// The ONNX file's bytes.
    pub model_bytes: u64,
    /// How many values are trained.
    pub parameter_count: u64,
    /// The trainable tensors.
    pub schema: TensorSchema,
}

/// A model in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelSummary {
    /// The ONNX file's digest, by which tasks name it.
    pub model: BlobDigest,
    /// The ONNX file's bytes.
    pub model_bytes: u64,
    /// How many values are trained.
    pub parameter_count: u64,
    /// When it was brought.
    pub created_at: Timestamp,
}

/// What is in a model's file, and what a step of training costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelGraphView {
    /// The dimensions of one example's features.
    pub input_shape: Vec<usize>,
    /// The dimensions of the output for one example.
    pub output_shape: Vec<usize>,
    /// How many values are trained.
    pub parameter_count: u64,
    /// The ONNX file's bytes.
    pub model_bytes: u64,
    /// The ONNX operators, and how many nodes of each there are.
    pub operators: BTreeMap<String, usize>,
    /// The tensors of the weights, in the order in which updates have them.
    pub parameters: Vec<ParameterView>,
    /// The nodes of the graph in the file's order, at most 5,000.
    pub nodes: Vec<NodeView>,
    /// Floating-point operations of a prediction for one example.
    pub forward_flops: u64,
    /// The same of a training step with one example: forward, loss and all gradients.
    pub training_flops: u64,
}

/// One tensor of the weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParameterView {
    /// The initializer's name.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// `trained`, or `statistic` for what the forward pass changes.
    pub role: String,
}

/// A node of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// Its name; often there is none.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// The tensors that it reads, by name.
    pub inputs: Vec<String>,
    /// The tensors that it makes, by name.
    pub outputs: Vec<String>,
}
