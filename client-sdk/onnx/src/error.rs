//! Why a model was not imported or exported.

use folkmoot_graph::op::ShapeError;

/// Why ONNX bytes did not become a model. The message tells the model's author what to change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is larger than the limit.
    #[error("the model has {bytes} bytes, the limit is {limit}")]
    ModelTooLarge {
        /// The file's size.
        bytes: usize,
        /// [`super::ImportLimits::model_bytes_max`].
        limit: usize,
    },
    /// The bytes are not an ONNX protobuf, or are cut off.
    #[error("not a whole ONNX file: {reason}")]
    Malformed {
        /// What was wrong where.
        reason: String,
    },
    /// The graph has more of something than the limit.
    #[error("the model has {count} {what}, the limit is {limit}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The operator set is not one that the engine knows.
    #[error("the model uses ONNX operator set {version}; {min} to {max} are supported")]
    UnsupportedOpset {
        /// The model's version, 0 if it names none.
        version: i64,
        /// The oldest supported version.
        min: i64,
        /// The newest supported version.
        max: i64,
    },
    /// The engine has no such operator.
    #[error("node {node}: operator {operator} is not supported; see docs/operators.md for what is supported")]
    UnsupportedOperator {
        /// The node's name.
        node: String,
        /// The operator, with its domain if it is not ONNX's own.
        operator: String,
    },
    /// A node uses an operator in a way that the engine does not know.
    #[error("node {node}: {operator} {reason}")]
    UnsupportedUse {
        /// The node's name.
        node: String,
        /// The operator.
        operator: String,
        /// What about it is not supported.
        reason: String,
    },
    /// A tensor's elements are in another file.
    #[error("tensor {tensor} lies in an external file; save the model as one file")]
    ExternalData {
        /// The tensor's name.
        tensor: String,
    },
    /// A tensor's elements are of a type that the engine does not compute with.
    #[error(
        "tensor {tensor} has ONNX element type {element_type}, which is not supported here: weights must be \
         float (1), frozen tensors may also be whole numbers, truth or other floats"
    )]
    UnsupportedElementType {
        /// The tensor's name.
        tensor: String,
        /// The number in `TensorProto.DataType`.
        element_type: i32,
    },
    /// A dimension is zero, negative or too large for this machine.
    #[error("tensor {tensor} has dimension {dimension}; a dimension must be 1 or more")]
    InvalidDimension {
        /// The tensor's name.
        tensor: String,
        /// The dimension.
        dimension: i64,
    },
    /// A tensor, or an intermediate result for a batch, has too many elements.
    #[error("{tensor} has more elements than the limit of {limit}")]
    TensorTooLarge {
        /// The tensor's name.
        tensor: String,
        /// [`super::ImportLimits::tensor_elements_max`].
        limit: usize,
    },
    /// A tensor has more or fewer elements than its dimensions say.
    #[error("tensor {tensor} should have {expected} elements, its data has {found}")]
    WrongLength {
        /// The tensor's name.
        tensor: String,
        /// The product of the dimensions.
        expected: usize,
        /// The elements found.
        found: usize,
    },
    /// A trainable tensor has a NaN or infinite element, or a frozen one has a NaN.
    #[error("tensor {tensor} has an element that is NaN or infinite")]
    NotFinite {
        /// The tensor's name.
        tensor: String,
    },
    /// Two values have one name.
    #[error("two values are named {name}")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A node or the graph's output reads a value that nothing provides.
    #[error("{reader} reads {value}, which is no input, initializer or output of a node")]
    MissingValue {
        /// The node's name, or "the graph's output".
        reader: String,
        /// The missing value.
        value: String,
    },
    /// A node reads a value that it or a later node computes.
    #[error(
        "node {node} reads {value}, which is computed later: the graph has a cycle or is not in running order"
    )]
    Cycle {
        /// The node's name.
        node: String,
        /// The value.
        value: String,
    },
    /// The graph does not have exactly one input, or has no output.
    #[error(
        "the graph has {inputs} inputs and {outputs} outputs; it must have one input, and its first output is trained"
    )]
    InputsAndOutputs {
        /// Inputs that are not initializers.
        inputs: usize,
        /// Outputs.
        outputs: usize,
    },
    /// The input is not a tensor of numbers with a free batch dimension in front and fixed dimensions behind.
    #[error("input {input}: {reason}")]
    InvalidInput {
        /// The input's name.
        input: String,
        /// What must be changed.
        reason: String,
    },
    /// The output does not have the batch in front.
    #[error("output {output} has shape {shape}; it must be the batch dimension, then fixed dimensions")]
    InvalidOutput {
        /// The output's name.
        output: String,
        /// Its inferred shape.
        shape: String,
    },
    /// The shapes of a node's inputs do not fit.
    #[error("node {node}: {source}")]
    Shape {
        /// The node's name.
        node: String,
        /// What does not fit.
        source: ShapeError,
    },
    /// No float initializer is used, so there is nothing to train.
    #[error("the model has no float initializer that a node reads, so there is nothing to train")]
    NothingToTrain,
}

/// Why weights could not be written into the model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The number of weights is not that of the model's parameters.
    #[error("the model has {expected} parameters, {found} weights were given")]
    WrongLength {
        /// How many values the model has.
        expected: usize,
        /// The weights given.
        found: usize,
    },
    /// A weight is NaN or infinite.
    #[error("weight {index} is NaN or infinite")]
    NotFinite {
        /// Its position in schema order.
        index: usize,
    },
}
