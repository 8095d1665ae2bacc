//! The gradient rule of each operator.

mod activation;
mod elementwise;
mod matrix;

use crate::graph::{Graph, Node, Op, ShapeError, ValueId};

/// Appends the nodes that compute what `node` contributes to the gradient of its input at `position`,
/// from `gradient`, the gradient of the node's output. The result has the shape of that input.
///
/// # Errors
/// Returns a [`ShapeError`] only if a rule is wrong: the forward shapes were checked before.
pub(super) fn input_gradient(
    graph: &mut Graph,
    node: &Node,
    position: usize,
    gradient: ValueId,
) -> Result<ValueId, ShapeError> {
    match &node.op {
        Op::Gemm { .. } | Op::MatMul => matrix::input_gradient(graph, node, position, gradient),
        Op::Add | Op::Sub | Op::Mul => elementwise::input_gradient(graph, node, position, gradient),
        Op::Relu => activation::from_output(graph, node, gradient, Op::ReluGradient),
        Op::Sigmoid => activation::from_output(graph, node, gradient, Op::SigmoidGradient),
        Op::Tanh => activation::from_output(graph, node, gradient, Op::TanhGradient),
        Op::Reshape { .. } => {
            let shape = graph.shape(node.inputs[position]).clone();
            graph.add_node(Op::Reshape { shape }, vec![gradient])
        }
        Op::Scale { .. }
        | Op::SumTo { .. }
        | Op::ReluGradient
        | Op::SigmoidGradient
        | Op::TanhGradient
        | Op::SoftmaxCrossEntropy
        | Op::SoftmaxCrossEntropyGradient
        | Op::MeanSquaredError
        | Op::MeanSquaredErrorGradient => {
            unreachable!("{} is made by the gradient builder and is never in a forward graph", node.op.name())
        }
    }
}

/// Sums `gradient` over the dimensions along which `input` was broadcast, if any.
fn unbroadcast(graph: &mut Graph, gradient: ValueId, input: ValueId) -> Result<ValueId, ShapeError> {
    let shape = graph.shape(input).clone();
    if *graph.shape(gradient) == shape {
        return Ok(gradient);
    }
    graph.add_node(Op::SumTo { shape }, vec![gradient])
}
