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
    /// The display name; null if there is none.
    pub name: Option<String>,
    /// The size of the ONNX file in bytes.
    pub model_bytes: u64,
    /// The number of trainable values.
    pub parameter_count: u64,
    /// When the model was uploaded.
    pub created_at: Timestamp,
}

/// The pieces that make one file of an ONNX file and its data files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelPartsView {
    /// The names of the data files that hold some of the weights. Empty if the ONNX file has everything.
    pub data_files: Vec<String>,
    /// The pieces of the joined file, in order.
    pub pieces: Vec<ModelPieceView>,
}

/// A piece of a joined model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum ModelPieceView {
    /// Bytes of the ONNX file, from `start` to before `end`.
    Model {
        /// The position of the first byte.
        start: u64,
        /// The position after the last byte.
        end: u64,
    },
    /// Bytes of a data file, from `start` to before `end`.
    DataFile {
        /// The name of the data file.
        file: String,
        /// The position of the first byte.
        start: u64,
        /// The position after the last byte.
        end: u64,
    },
    /// New bytes, such as a length. There are only a few.
    New {
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// The contents of a model file, and the cost of a training step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelGraphView {
    /// The inputs in the order of the file. Several inputs are columns of the features in this order.
    pub inputs: Vec<InputView>,
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

/// An input of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InputView {
    /// The name of the input.
    pub name: String,
    /// The dimensions for one example.
    pub shape: Vec<usize>,
    /// The index in `shape` of the dimension that is the length of sequences, if the file leaves the length free. Each
    /// client's examples determine the length; `shape` contains a sample value.
    pub length_axis: Option<usize>,
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
