//! The table of supported operators, by name.

use super::windows::{convolution, pooling};
use super::{
    Operator, activation, arithmetic, cast, constant, dropout, gather, matrix, normalization, pad, recurrent,
    reduction, repeat, reshape, rounding, slice,
};
#[cfg(feature = "complete")]
use super::{attention, einsum, quantization, resize, scan};
use crate::node::{NodeLowering, Outputs};
use folkmoot_graph::op::{ElementOp, Reduction};

/// Sorted by name. The small importer has only operators that are common in models for pages.
pub(super) const OPERATORS: &[Operator] = &[
    operator("Abs", |node| arithmetic::unary(node, ElementOp::Absolute)).reading_empty(),
    operator("Add", |node| arithmetic::binary(node, ElementOp::Add)).reading_empty(),
    operator("And", |node| arithmetic::logic(node, ElementOp::And)).reading_empty(),
    operator("ArgMax", |node| reduction::argument(node, Reduction::Maximum)),
    operator("ArgMin", |node| reduction::argument(node, Reduction::Minimum)),
    #[cfg(feature = "complete")]
    operator("Attention", attention::attention),
    operator("AveragePool", pooling::average),
    operator("BatchNormalization", normalization::batch),
    operator("Cast", cast::cast).reading_empty(),
    operator("CastLike", cast::cast_like).reading_empty(),
    operator("Ceil", rounding::ceiling).reading_empty(),
    operator("Clip", activation::clip).with_settings(&[1, 2]),
    operator("Concat", reshape::concat).reading_empty(),
    operator("Constant", constant::constant),
    operator("ConstantOfShape", constant::of_shape).with_settings(&[0]),
    operator("Conv", convolution::convolution),
    operator("ConvTranspose", convolution::transposed),
    operator("Cos", |node| arithmetic::unary(node, ElementOp::Cosine)).reading_empty(),
    #[cfg(feature = "complete")]
    operator("CumSum", scan::running_sum).with_settings(&[1]),
    #[cfg(feature = "complete")]
    operator("DepthToSpace", reshape::depth_to_space),
    #[cfg(feature = "complete")]
    operator("DequantizeLinear", quantization::dequantize).with_settings(&[1, 2]),
    operator("Div", |node| arithmetic::binary(node, ElementOp::Divide)).reading_empty(),
    operator("Dropout", dropout::dropout).with_settings(&[1, 2]),
    #[cfg(feature = "complete")]
    operator("Einsum", einsum::einsum),
    operator("Elu", activation::elu),
    operator("Equal", |node| arithmetic::comparison(node, ElementOp::Equal)).reading_empty(),
    operator("Erf", |node| arithmetic::unary(node, ElementOp::Erf)).reading_empty(),
    operator("Exp", |node| arithmetic::unary(node, ElementOp::Exponential)).reading_empty(),
    operator("Expand", repeat::expand).with_settings(&[1]),
    operator("Flatten", reshape::flatten),
    operator("Floor", |node| arithmetic::unary(node, ElementOp::Floor)).reading_empty(),
    operator("GRU", recurrent::gru).with_settings(&[4]),
    operator("Gather", gather::gather),
    #[cfg(feature = "complete")]
    operator("GatherElements", gather::gather_elements),
    #[cfg(feature = "complete")]
    operator("GatherND", gather::gather_nd),
    operator("Gelu", activation::gelu),
    operator("Gemm", matrix::gemm),
    operator("GlobalAveragePool", pooling::global_average),
    operator("GlobalMaxPool", pooling::global_maximum),
    operator("Greater", |node| arithmetic::reversed_comparison(node, ElementOp::Less)).reading_empty(),
    operator("GreaterOrEqual", |node| arithmetic::reversed_comparison(node, ElementOp::LessOrEqual))
        .reading_empty(),
    operator("GroupNormalization", normalization::group),
    operator("HardSigmoid", activation::hard_sigmoid),
    operator("HardSwish", activation::hard_swish),
    operator("Identity", reshape::identity).reading_empty(),
    #[cfg(feature = "complete")]
    operator("If", lowered_with_its_graphs).with_settings(&[0]),
    operator("InstanceNormalization", normalization::instance),
    #[cfg(feature = "complete")]
    operator("IsInf", rounding::is_infinite).reading_empty(),
    #[cfg(feature = "complete")]
    operator("IsNaN", rounding::is_nan).reading_empty(),
    operator("LSTM", recurrent::lstm).with_settings(&[4]),
    operator("LayerNormalization", normalization::layer),
    operator("LeakyRelu", activation::leaky_relu),
    operator("Less", |node| arithmetic::comparison(node, ElementOp::Less)).reading_empty(),
    operator("LessOrEqual", |node| arithmetic::comparison(node, ElementOp::LessOrEqual)).reading_empty(),
    operator("Log", |node| arithmetic::unary(node, ElementOp::Logarithm)).reading_empty(),
    operator("LogSoftmax", activation::log_softmax),
    #[cfg(feature = "complete")]
    operator("Loop", lowered_with_its_graphs).with_settings(&[0, 1]).reading_empty(),
    operator("MatMul", matrix::matmul),
    operator("Max", |node| arithmetic::variadic(node, ElementOp::Maximum)).reading_empty(),
    operator("MaxPool", pooling::maximum),
    operator("Mean", arithmetic::mean).reading_empty(),
    operator("Min", |node| arithmetic::variadic(node, ElementOp::Minimum)).reading_empty(),
    #[cfg(feature = "complete")]
    operator("Mish", activation::mish),
    #[cfg(feature = "complete")]
    operator("Mod", rounding::modulo).reading_empty(),
    operator("Mul", |node| arithmetic::binary(node, ElementOp::Multiply)).reading_empty(),
    operator("Neg", |node| arithmetic::unary(node, ElementOp::Negate)).reading_empty(),
    operator("Not", arithmetic::not).reading_empty(),
    #[cfg(feature = "complete")]
    operator("OneHot", gather::one_hot).with_settings(&[1, 2]),
    operator("Or", |node| arithmetic::logic(node, ElementOp::Or)).reading_empty(),
    operator("PRelu", activation::parametric_relu),
    operator("Pad", pad::pad).with_settings(&[1, 2, 3]),
    operator("Pow", arithmetic::power).reading_empty(),
    #[cfg(feature = "complete")]
    operator("RMSNormalization", normalization::root_mean_square),
    operator("RNN", recurrent::rnn).with_settings(&[4]),
    operator("Range", constant::range).with_settings(&[0, 1, 2]),
    operator("Reciprocal", arithmetic::reciprocal).reading_empty(),
    #[cfg(feature = "complete")]
    operator("ReduceL1", reduction::absolute_sum).with_settings(&[1]).reading_empty(),
    #[cfg(feature = "complete")]
    operator("ReduceL2", reduction::norm).with_settings(&[1]).reading_empty(),
    #[cfg(feature = "complete")]
    operator("ReduceLogSum", reduction::logarithm_of_sum).with_settings(&[1]).reading_empty(),
    #[cfg(feature = "complete")]
    operator("ReduceLogSumExp", reduction::logarithm_of_exponentials).with_settings(&[1]).reading_empty(),
    operator("ReduceMax", |node| reduction::reduce(node, Reduction::Maximum))
        .with_settings(&[1])
        .reading_empty(),
    operator("ReduceMean", reduction::mean).with_settings(&[1]),
    operator("ReduceMin", |node| reduction::reduce(node, Reduction::Minimum))
        .with_settings(&[1])
        .reading_empty(),
    #[cfg(feature = "complete")]
    operator("ReduceProd", reduction::product).with_settings(&[1]).reading_empty(),
    operator("ReduceSum", |node| reduction::reduce(node, Reduction::Sum)).with_settings(&[1]).reading_empty(),
    #[cfg(feature = "complete")]
    operator("ReduceSumSquare", reduction::square_sum).with_settings(&[1]).reading_empty(),
    operator("Relu", |node| arithmetic::unary(node, ElementOp::Relu)).reading_empty(),
    operator("Reshape", reshape::reshape).with_settings(&[1]).reading_empty(),
    #[cfg(feature = "complete")]
    operator("Resize", resize::resize).with_settings(&[1, 2, 3]),
    #[cfg(feature = "complete")]
    operator("RotaryEmbedding", attention::rotary::embedding).with_settings(&[1, 2, 3]),
    #[cfg(feature = "complete")]
    operator("Round", rounding::round).reading_empty(),
    #[cfg(feature = "complete")]
    operator("Scan", lowered_with_its_graphs).reading_empty(),
    operator("Selu", activation::selu),
    operator("Shape", constant::shape).reading_empty(),
    operator("Sigmoid", |node| arithmetic::unary(node, ElementOp::Sigmoid)).reading_empty(),
    operator("Sign", |node| arithmetic::unary(node, ElementOp::Sign)).reading_empty(),
    operator("Sin", |node| arithmetic::unary(node, ElementOp::Sine)).reading_empty(),
    operator("Size", constant::size).reading_empty(),
    operator("Slice", slice::slice).with_settings(&[1, 2, 3, 4]).reading_empty(),
    operator("Softmax", activation::softmax),
    operator("Softplus", activation::softplus),
    #[cfg(feature = "complete")]
    operator("SpaceToDepth", reshape::space_to_depth),
    operator("Split", slice::split).with_settings(&[1]).reading_empty(),
    operator("Sqrt", |node| arithmetic::unary(node, ElementOp::SquareRoot)).reading_empty(),
    operator("Squeeze", reshape::squeeze).with_settings(&[1]),
    operator("Sub", |node| arithmetic::binary(node, ElementOp::Subtract)).reading_empty(),
    operator("Sum", |node| arithmetic::variadic(node, ElementOp::Add)).reading_empty(),
    operator("Swish", activation::swish),
    operator("Tanh", |node| arithmetic::unary(node, ElementOp::Tanh)).reading_empty(),
    operator("Tile", repeat::tile).with_settings(&[1]),
    operator("Transpose", reshape::transpose),
    #[cfg(feature = "complete")]
    operator("Trilu", scan::triangle).with_settings(&[1]).reading_empty(),
    operator("Unsqueeze", reshape::unsqueeze).with_settings(&[1]),
    #[cfg(feature = "complete")]
    operator("Upsample", resize::upsample).with_settings(&[1]),
    operator("Where", arithmetic::select).reading_empty(),
    operator("Xor", arithmetic::exclusive_or).reading_empty(),
];

/// The lowering adds the nodes of a branch, or of a body, itself.
#[cfg(feature = "complete")]
fn lowered_with_its_graphs(node: &mut NodeLowering<'_>) -> Outputs {
    Err(node.refuse("is not lowered alone"))
}

const COUNT: usize = OPERATORS.len();

/// The names of [`OPERATORS`].
pub(super) const NAMES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let mut position = 0;
    while position < COUNT {
        names[position] = OPERATORS[position].name;
        position += 1;
    }
    names
};

pub(super) const fn operator(name: &'static str, lower: fn(&mut NodeLowering<'_>) -> Outputs) -> Operator {
    Operator { name, lower, settings: &[], reads_empty: false }
}

impl Operator {
    /// Marks inputs as settings.
    const fn with_settings(self, settings: &'static [usize]) -> Self {
        Self { settings, ..self }
    }

    /// Allows empty inputs.
    const fn reading_empty(self) -> Self {
        Self { reads_empty: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(NAMES.is_sorted(), "binary search needs sorted names");
    }
}
