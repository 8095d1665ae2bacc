//! Reports decisions about a tensor that the file's author may not expect.

use std::fmt;

/// The maximum number of names in a message.
const NAMES_MAX: usize = 4;

/// Something about a tensor that its author may not expect. The text says what the engine does and how to change it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// A float initializer with one element that no layer reads as a weight or a bias. It is not trained by default.
    OneElement {
        /// The tensor.
        tensor: String,
    },
    /// A float initializer with one element that no layer reads as a weight or a bias, but whose name is that of a
    /// weight. It is trained by default.
    NamedWeight {
        /// The tensor.
        tensor: String,
    },
    /// A float initializer whose elements are positions: numbers with equal steps, or cosines and sines. It is not trained
    /// by default.
    Positions {
        /// The tensor.
        tensor: String,
    },
    /// The scale of ones or the bias of zeros of an `InstanceNormalization` that is a part of a group normalisation. It is
    /// not trained by default.
    Neutral {
        /// The tensor.
        tensor: String,
        /// The node that reads the scale of the group normalisation.
        node: String,
    },
    /// A float initializer from which a shape or an index is computed. It cannot be trained.
    Setting {
        /// The tensor.
        tensor: String,
    },
    /// A float initializer with infinite elements, for example a mask. It cannot be trained.
    Infinite {
        /// The tensor.
        tensor: String,
    },
    /// One tensor of the file that became several, because several layers read it.
    Separated {
        /// The tensor.
        tensor: String,
        /// The names of the tensors that it became; the first is its own.
        names: Vec<String>,
    },
    /// A weight that several nodes read and train together.
    Shared {
        /// The tensor.
        tensor: String,
        /// The nodes that read it.
        nodes: Vec<String>,
    },
    /// An integer tensor from which a layer's weight is computed. It cannot be trained.
    IntegerWeight {
        /// The tensor.
        tensor: String,
        /// The layer.
        node: String,
    },
    /// A layer's weight that is a `Constant` node. It is not trained.
    ConstantWeight {
        /// The name of the node's output.
        tensor: String,
        /// The layer.
        node: String,
    },
    /// The weight of a layer from which the exporter removed a bias of zeros, or into which it merged a normalisation.
    Removed {
        /// The tensor.
        tensor: String,
        /// The layer.
        node: String,
    },
    /// The scale of a normalisation that may stand for several, which an exporter merged.
    Merged {
        /// The tensor.
        tensor: String,
        /// The normalisation.
        node: String,
        /// The normalisation with the next number that is in the file.
        next: String,
    },
    /// The running mean of a batch normalisation that an exporter wrote as arithmetic.
    RunningStatistics {
        /// The tensor.
        tensor: String,
        /// The node that subtracts it.
        node: String,
    },
    /// A weight that is the transpose of another one.
    Copied {
        /// The tensor.
        tensor: String,
        /// The other weight.
        of: String,
    },
}

impl Remark {
    /// Returns the tensor's name.
    pub fn tensor(&self) -> &str {
        match self {
            Self::OneElement { tensor }
            | Self::NamedWeight { tensor }
            | Self::Positions { tensor }
            | Self::Neutral { tensor, .. }
            | Self::Setting { tensor }
            | Self::Infinite { tensor }
            | Self::Separated { tensor, .. }
            | Self::Shared { tensor, .. }
            | Self::IntegerWeight { tensor, .. }
            | Self::ConstantWeight { tensor, .. }
            | Self::Removed { tensor, .. }
            | Self::Merged { tensor, .. }
            | Self::RunningStatistics { tensor, .. }
            | Self::Copied { tensor, .. } => tensor,
        }
    }

    /// Returns a short word for the remark, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OneElement { .. } => "one_element",
            Self::NamedWeight { .. } => "named_weight",
            Self::Positions { .. } => "positions",
            Self::Neutral { .. } => "neutral",
            Self::Setting { .. } => "setting",
            Self::Infinite { .. } => "infinite",
            Self::Separated { .. } => "separated",
            Self::Shared { .. } => "shared",
            Self::IntegerWeight { .. } => "integer_weight",
            Self::ConstantWeight { .. } => "constant_weight",
            Self::Removed { .. } => "removed",
            Self::Merged { .. } => "merged",
            Self::RunningStatistics { .. } => "running_statistics",
            Self::Copied { .. } => "copied",
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneElement { tensor } => write!(
                formatter,
                "{tensor} is not trained: it has one element, and no layer reads it as a weight or a bias. To train it, \
                 add its name to `trained` in the plan"
            ),
            Self::NamedWeight { tensor } => write!(
                formatter,
                "{tensor} is trained because of its name, although it has one element, and no layer reads it as a weight or \
                 a bias. If it is a constant, add its name to `frozen` in the plan"
            ),
            Self::Positions { tensor } => write!(
                formatter,
                "{tensor} is not trained: its elements are positions, which are numbers with equal steps, or cosines and sines \
                 of the same angles. To train it, add its name to `trained` in the plan"
            ),
            Self::Neutral { tensor, node } => write!(
                formatter,
                "{tensor} is not trained: it is a constant of a group normalisation, whose own scale node {node} reads. To \
                 train it, add its name to `trained` in the plan"
            ),
            Self::Setting { tensor } => write!(
                formatter,
                "{tensor} cannot be trained: a shape, an index or another setting is computed from it"
            ),
            Self::Infinite { tensor } => {
                write!(formatter, "{tensor} cannot be trained: it has infinite elements, like a mask")
            }
            Self::Separated { tensor, names } => write!(
                formatter,
                "{tensor} is stored once, but {} layers read it. Exporters merge tensors that are equal when the file \
                 is written, so it is trained as {} tensors: {}. To train it as one, set the metadata entry \
                 folkmoot.shared of the ONNX file to a pattern that matches it",
                names.len(),
                names.len(),
                listed(names)
            ),
            Self::Shared { tensor, nodes } => write!(
                formatter,
                "{tensor} is one weight that {} nodes read: {}. To train one for each of them, set the metadata entry \
                 folkmoot.separate of the ONNX file to a pattern that matches it",
                nodes.len(),
                listed(nodes)
            ),
            Self::IntegerWeight { tensor, node } => write!(
                formatter,
                "{tensor} is not trained: it is an integer tensor from which the weight of node {node} is computed. To \
                 train it, export the model with float32 weights"
            ),
            Self::ConstantWeight { tensor, node } => write!(
                formatter,
                "{tensor} is not trained: the weight of node {node} is a Constant node. To train it, store it as a \
                 float32 initializer"
            ),
            Self::Removed { tensor, node } => write!(
                formatter,
                "{tensor} is trained alone: the exporter merged a batch normalisation into node {node}, or removed its bias \
                 of zeros. To train these too, export with `optimize=False` or with `folkmoot.export.to_onnx`"
            ),
            Self::Merged { tensor, node, next } => write!(
                formatter,
                "{tensor} may stand for several normalisations: between {node} and {next}, a number is missing. PyTorch's \
                 default exporter merges normalisations that are equal before training and read the same tensor. To train \
                 each of them, export with `optimize=False`"
            ),
            Self::RunningStatistics { tensor, node } => write!(
                formatter,
                "{tensor} is trained like a weight, but seems to be the running mean of a batch normalisation: node {node} \
                 subtracts it, and a product and a sum follow. Training does not use the statistics of the batch. Export the \
                 model with BatchNormalization nodes, replace the layer by a layer normalisation, or add these tensors to \
                 `frozen` in the plan"
            ),
            Self::Copied { tensor, of } => write!(
                formatter,
                "{tensor} and {of} are trained apart, but one is the transpose of the other: the exporter stored one weight \
                 twice. To train it as one, export with `optimize=False` or with `folkmoot.export.to_onnx`"
            ),
        }
    }
}

/// Lists the first names.
fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        others => format!("{shown} and {others} more"),
    }
}
