//! Reductions over axes.

use crate::graph::{Graph, Node, ValueId};
use crate::op::{ElementOp, Reduction, ShapeError};

/// A sum passes its gradient to all; an extreme divides it among those that are equal to it.
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
