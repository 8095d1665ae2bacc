//! Reductions over axes.

use crate::graph::{Graph, Node, ValueId};
use crate::op::{ElementOp, Reduction, ShapeError};

/// Returns the input's gradient. A sum passes its gradient to all elements. A maximum or minimum divides its gradient
/// equally among the elements that equal the result.
pub(super) fn input_gradient(
    graph: &mut Graph,
    node: &Node,
    kind: Reduction,
    axes: &[usize],
    gradient: ValueId,
) -> Result<ValueId, ShapeError> {
    let input = node.inputs[0];
    let shape = graph.shape(input).to_vec();
    if kind == Reduction::Sum {
        return graph.broadcast_to(gradient, &shape);
    }
    let is_extreme = graph.element(ElementOp::Equal, &[input, node.output])?;
    let count = graph.reduce(Reduction::Sum, is_extreme, axes);
    let share = graph.element(ElementOp::Divide, &[gradient, count])?;
    graph.element(ElementOp::Multiply, &[is_extreme, share])
}
