//! Gemm and MatMul: with `Y = alpha op(A) op(B) + beta C`,
//! `d op(A) = alpha dY op(B)^T` and `d op(B) = alpha op(A)^T dY`.

use super::unbroadcast;
use crate::graph::{Graph, Node, Op, ShapeError, ValueId};

/// The gradient of A, B or C.
pub(super) fn input_gradient(
    graph: &mut Graph,
    node: &Node,
    position: usize,
    gradient: ValueId,
) -> Result<ValueId, ShapeError> {
    let (alpha, beta, transpose_a, transpose_b) = match node.op {
        Op::Gemm { alpha, beta, transpose_a, transpose_b } => (alpha, beta, transpose_a, transpose_b),
        _ => (1.0, 0.0, false, false),
    };
    let (a, b) = (node.inputs[0], node.inputs[1]);
    // Each product is written so that its result already has the layout of the stored, untransposed input.
    let (left, transpose_left, right, transpose_right) = match (position, transpose_a, transpose_b) {
        (0, false, _) => (gradient, false, b, !transpose_b),
        (0, true, _) => (b, transpose_b, gradient, true),
        (1, _, false) => (a, !transpose_a, gradient, false),
        (1, _, true) => (gradient, true, a, transpose_a),
        _ => return bias_gradient(graph, node, gradient, beta),
    };
    let op = Op::Gemm { alpha, beta: 0.0, transpose_a: transpose_left, transpose_b: transpose_right };
    graph.add_node(op, vec![left, right])
}

fn bias_gradient(
    graph: &mut Graph,
    node: &Node,
    gradient: ValueId,
    beta: f32,
) -> Result<ValueId, ShapeError> {
    let summed = unbroadcast(graph, gradient, node.inputs[2])?;
    if beta == 1.0 {
        return Ok(summed);
    }
    graph.add_node(Op::Scale { factor: beta }, vec![summed])
}
