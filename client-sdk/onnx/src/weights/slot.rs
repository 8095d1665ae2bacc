//! The roles of inputs, as operators define them.

use crate::operators::is_of_onnx;
use crate::proto::NodeProto;

/// The role of an input of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The weight of a layer.
    Weight,
    /// The bias of the layer with this weight, which the same node or the node before computes.
    Bias,
    /// A scale, bias or statistic of a normalization, a slope, or a bias behind a change of shape.
    Vector,
    /// An operand of an elementwise operator.
    Operand,
    /// Anything else.
    Other,
}

impl Slot {
    /// Returns whether a layer computes with the input as a weight, a bias or a scale.
    pub(crate) fn is_of_layer(self) -> bool {
        matches!(self, Self::Weight | Self::Bias | Self::Vector)
    }
}

/// Returns the role of an input as the operator defines it.
pub(super) fn by_operator(node: &NodeProto, position: usize) -> Slot {
    if !is_of_onnx(node) {
        return Slot::Other;
    }
    match (node.op_type.as_str(), position) {
        ("MatMul" | "Gemm", 0 | 1)
        | ("Conv" | "ConvTranspose", 1)
        | ("GRU" | "LSTM" | "RNN", 1 | 2)
        | ("Einsum", _) => Slot::Weight,
        ("Gemm" | "Conv" | "ConvTranspose", 2) | ("GRU" | "LSTM" | "RNN", 3) | ("LSTM", 7) => Slot::Bias,
        ("BatchNormalization", 1..=4)
        | ("InstanceNormalization" | "GroupNormalization" | "LayerNormalization", 1 | 2)
        | ("RMSNormalization" | "PRelu", 1) => Slot::Vector,
        ("Add" | "Sub" | "Mul" | "Div", _) => Slot::Operand,
        _ => Slot::Other,
    }
}
