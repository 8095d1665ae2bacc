//! Models that tasks train.

use std::collections::BTreeMap;

use folkmoot_protocol::{BlobDigest, TensorSchema, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An uploaded model with its trainable tensors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    /// The digest of the ONNX file. Tasks refer to the model by this digest.
    pub model: BlobDigest,
    /// The size of the ONNX file in bytes.
    pub model_bytes: u64,
    /// The number of trainable values.
    pub parameter_count: u64,
    /// The trainable tensors.
    pub schema: TensorSchema,
}

/// A model in the list of models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelSummary {
    /// The digest of the ONNX file. Tasks refer to the model by this digest.
    pub model: BlobDigest,
    /// The size of the ONNX file in bytes.
    pub model_bytes: u64,
    /// The number of trainable values.
    pub parameter_count: u64,
    /// When the model was uploaded.
    pub created_at: Timestamp,
}

/// The contents of a model file, and the cost of a training step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelGraphView {
    /// The dimensions of one example's features.
    pub input_shape: Vec<usize>,
    /// The dimensions of the output for one example.
    pub output_shape: Vec<usize>,
    /// The number of trainable values.
    pub parameter_count: u64,
    /// The size of the ONNX file in bytes.
    pub model_bytes: u64,
    /// The number of nodes for each ONNX operator.
    pub operators: BTreeMap<String, usize>,
    /// The weight tensors, in the order that updates use.
    pub parameters: Vec<ParameterView>,
    /// The nodes of the graph in file order, at most 5,000.
    pub nodes: Vec<NodeView>,
    /// The number of floating-point operations to predict one example.
    pub forward_flops: u64,
    /// The number of floating-point operations in a training step on one example: forward pass, loss and all
    /// gradients.
    pub training_flops: u64,
}

/// One weight tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParameterView {
    /// The name of the ONNX initializer.
    pub name: String,
    /// The dimensions of the tensor.
    pub shape: Vec<usize>,
    /// `trained`, or `statistic` for a tensor that the forward pass updates, such as a running mean.
    pub role: String,
}

/// A node of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// The name of the node; often empty.
    pub name: String,
    /// The ONNX operator.
    pub operator: String,
    /// The names of the node's input tensors.
    pub inputs: Vec<String>,
    /// The names of the node's output tensors.
    pub outputs: Vec<String>,
}
