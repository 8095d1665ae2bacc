//! Add, Sub and Mul with broadcasting.

use super::unbroadcast;
use crate::graph::{Graph, Node, Op, ShapeError, ValueId};

/// The gradient of one side of an elementwise operation.
pub(super) fn input_gradient(
    graph: &mut Graph,
    node: &Node,
    position: usize,
    gradient: ValueId,
) -> Result<ValueId, ShapeError> {
    let local = match (&node.op, position) {
        (Op::Mul, _) => graph.add_node(Op::Mul, vec![gradient, node.inputs[1 - position]])?,
        (Op::Sub, 1) => graph.add_node(Op::Scale { factor: -1.0 }, vec![gradient])?,
        _ => gradient,
    };
    unbroadcast(graph, local, node.inputs[position])
}
