//! Matrix products: with `Y = op(A) op(B)`, `d op(A) = dY op(B)ᵀ` and `d op(B) = op(A)ᵀ dY`.

use crate::graph::{Graph, Node, ValueId};
use crate::op::{ShapeError, volume};

/// Returns the gradient of A or B. Each product is arranged so that its result already has the layout of the stored
/// input.
pub(super) fn input_gradient(
    graph: &mut Graph,
    node: &Node,
    position: usize,
    gradient: ValueId,
    transpose_a: bool,
    transpose_b: bool,
) -> Result<ValueId, ShapeError> {
    let (a, b) = (node.inputs[0], node.inputs[1]);
    if position == 1 && !transpose_a && graph.shape(b).len() == 2 && graph.shape(a).len() > 2 {
        // A batch of A shares one B: the sum over the batch becomes part of one larger product.
        let rows = |graph: &mut Graph, id: ValueId| {
            let shape = graph.shape(id).to_vec();
            let columns = shape[shape.len() - 1];
            graph.reshape(id, &[volume(&shape) / columns, columns])
        };
        let (a, gradient) = (rows(graph, a)?, rows(graph, gradient)?);
        return if transpose_b {
            graph.matmul(gradient, a, true, false)
        } else {
            graph.matmul(a, gradient, true, false)
        };
    }
    let (left, transpose_left, right, transpose_right) = match (position, transpose_a, transpose_b) {
        (0, false, _) => (gradient, false, b, !transpose_b),
        (0, true, _) => (b, transpose_b, gradient, true),
        (_, _, false) => (a, !transpose_a, gradient, false),
        (_, _, true) => (gradient, true, a, transpose_a),
    };
    let product = graph.matmul(left, right, transpose_left, transpose_right)?;
    let shape = graph.shape(node.inputs[position]).to_vec();
    graph.sum_to(product, &shape)
}
