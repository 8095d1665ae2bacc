//! Errors of import and export.

use std::fmt;

use folkmoot_graph::op::ShapeError;
use folkmoot_onnx_file::FileError;

/// An operator that the engine does not support, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedOperator {
    /// The operator, with its domain unless that is ONNX's own.
    pub operator: String,
    /// The name of the first node with this operator.
    pub node: String,
    /// The number of nodes with this operator.
    pub nodes: usize,
    /// The advice to the model's author, as a clause.
    pub advice: &'static str,
}

impl fmt::Display for UnsupportedOperator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operator, node, nodes, advice } = self;
        match nodes {
            1 => write!(formatter, "{operator} (node {node}): {advice}"),
            _ => write!(formatter, "{operator} ({nodes} nodes, the first is {node}): {advice}"),
        }
    }
}

/// Lists operators, one a line.
fn listed(operators: &[UnsupportedOperator]) -> String {
    operators.iter().map(|operator| format!("\n- {operator}")).collect()
}

/// Why ONNX bytes could not be imported. The message says what the model's author should change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The bytes are malformed, exceed a limit, or hold a tensor that cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The engine does not support the model's opset.
    #[error(
        "the model uses ONNX opset {version}; opsets {min} to {max} are supported; export it with one of them"
    )]
    UnsupportedOpset {
        /// The model's opset, or 0 if it names none.
        version: i64,
        /// The oldest supported opset.
        min: i64,
        /// The newest supported opset.
        max: i64,
    },
    /// The engine does not support an operator.
    #[error("node {node}: operator {operator} is not supported; docs/operators.md lists the supported ones")]
    UnsupportedOperator {
        /// The node's name.
        node: String,
        /// The operator, with its domain unless that is ONNX's own.
        operator: String,
    },
    /// The engine does not support some operators of the model.
    #[error(
        "the model uses operators that are not supported; docs/operators.md lists the supported ones:{}",
        listed(operators)
    )]
    UnsupportedOperators {
        /// The operators, each once.
        operators: Vec<UnsupportedOperator>,
    },
    /// The small importer reads only files whose weights are obvious.
    #[error(
        "{what} needs the complete importer, which is not part of this build; enable the feature `complete` of \
         folkmoot-onnx"
    )]
    NotObvious {
        /// The part of the file that needs a decision.
        what: String,
    },
    /// An entry of the file's metadata for this engine is invalid.
    #[error("the metadata entry folkmoot.{entry} {reason}")]
    Metadata {
        /// The entry's name, without its prefix.
        entry: String,
        /// The fault, as a predicate.
        reason: String,
    },
    /// A layer's weight or bias is an integer tensor.
    #[error(
        "tensor {tensor} is a weight of node {node}, but its elements are integers, so it cannot be trained; export the \
         model with float32 weights"
    )]
    IntegerWeight {
        /// The tensor's name.
        tensor: String,
        /// The node's name.
        node: String,
    },
    /// A node uses an operator in an unsupported way.
    #[error("node {node}: {operator} {reason}")]
    UnsupportedUse {
        /// The node's name.
        node: String,
        /// The operator.
        operator: String,
        /// The unsupported part, as a predicate: "has …", "reads …".
        reason: String,
    },
    /// Two values have the same name.
    #[error("two values are named {name}; names must be unique")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A node or the graph's output reads an undefined value.
    #[error("{reader} reads {value}, which is neither an input, an initializer nor a node's output")]
    MissingValue {
        /// The node's name, or "the graph's output".
        reader: String,
        /// The missing value.
        value: String,
    },
    /// A node reads a value that the node itself or a later node computes.
    #[error(
        "node {node} reads {value}, which is computed later: the graph has a cycle, or its nodes are not in execution \
         order"
    )]
    Cycle {
        /// The node's name.
        node: String,
        /// The value.
        value: String,
    },
    /// The graph has no input, too many inputs, or no output.
    #[error(
        "the graph has {inputs} inputs and {outputs} outputs; it must have 1 to 64 inputs and at least one output"
    )]
    InputsAndOutputs {
        /// The number of inputs that are not initializers.
        inputs: usize,
        /// The number of outputs.
        outputs: usize,
    },
    /// The input is not a numeric tensor whose first dimension (the batch) is free and whose other dimensions are
    /// fixed.
    #[error("input {input}: {reason}")]
    InvalidInput {
        /// The input's name.
        input: String,
        /// The fault of the input.
        reason: String,
    },
    /// The output's first dimension is not the batch.
    #[error("output {output} has shape {shape}; it must be the batch dimension, then fixed dimensions")]
    InvalidOutput {
        /// The output's name.
        output: String,
        /// The output's inferred shape.
        shape: String,
    },
    /// The plan trains an output that the model does not have.
    #[cfg(feature = "complete")]
    #[error("the model has no value named {output}; its outputs are {outputs}")]
    NoSuchOutput {
        /// The name.
        output: String,
        /// The names of the outputs, separated by commas.
        outputs: String,
    },
    /// The plan trains an output from which no loss can be computed.
    #[cfg(feature = "complete")]
    #[error("no loss can be computed from {output}, because it {reason}")]
    UntrainedOutput {
        /// The output's name.
        output: String,
        /// The reason, as a predicate.
        reason: String,
    },
    /// The shapes of a node's inputs are incompatible.
    #[error("node {node}: {source}")]
    Shape {
        /// The node's name.
        node: String,
        /// The operator and the incompatible shapes.
        source: ShapeError,
    },
    /// No node reads a float initializer, so there is nothing to train.
    #[error(
        "the model has no float32 initializer that a node reads as a weight, so there is nothing to train. Weights in \
         Constant nodes and integer weights are not trained; export the model with its float32 parameters as \
         initializers, for example with folkmoot.export.to_onnx"
    )]
    NothingToTrain,
}

/// Why weights could not be written into the model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The number of weights differs from the number of the model's parameters.
    #[error("the model has {expected} parameters, but {found} weights were given")]
    WrongLength {
        /// The model's number of parameters.
        expected: usize,
        /// The number of weights given.
        found: usize,
    },
    /// A weight is NaN or infinite.
    #[error("weight {index} is NaN or infinite; all weights must be finite")]
    NotFinite {
        /// The weight's position in schema order.
        index: usize,
    },
}
