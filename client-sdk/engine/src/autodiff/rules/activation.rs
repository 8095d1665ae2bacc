//! Activations whose derivative is a function of their output.

use crate::graph::{Graph, Node, Op, ShapeError, ValueId};

/// The gradient of the input as `gradient_op(gradient of the output, output)`.
pub(super) fn from_output(
    graph: &mut Graph,
    node: &Node,
    gradient: ValueId,
    gradient_op: Op,
) -> Result<ValueId, ShapeError> {
    graph.add_node(gradient_op, vec![gradient, node.output])
}
