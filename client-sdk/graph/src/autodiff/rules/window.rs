//! Convolutions and pooling. Their gradient operators cannot be differentiated again. The exception is the transposed
//! convolution, which is itself the input gradient of a convolution.

use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, ShapeError};

/// Returns the gradient of the input at `position`.
pub(super) fn input_gradient(
    graph: &mut Graph,
    node: &Node,
    position: usize,
    gradient: ValueId,
) -> Result<ValueId, ShapeError> {
    let shape = graph.shape(node.inputs[position]).to_vec();
    Ok(match (&node.op, position) {
        (Op::Conv { window, groups }, 0) => {
            graph.conv_input_gradient(gradient, node.inputs[1], *window, *groups, &shape)
        }
        (Op::Conv { window, groups }, _) => {
            graph.conv_filter_gradient(gradient, node.inputs[0], *window, *groups, &shape)
        }
        // The adjoint of a transposed convolution is the convolution with the same geometry.
        (Op::ConvInputGradient { window, groups }, 0) => {
            let op = Op::Conv { window: *window, groups: *groups };
            graph.pool(op, &[gradient, node.inputs[1]], &shape)
        }
        (Op::ConvInputGradient { window, groups }, _) => {
            graph.conv_filter_gradient(node.inputs[0], gradient, *window, *groups, &shape)
        }
        (Op::MaxPool { window }, _) => {
            let op = Op::MaxPoolGradient { window: *window };
            graph.pool(op, &[node.inputs[0], gradient], &shape)
        }
        (Op::AveragePool { window, counted_padding }, _) => {
            let op = Op::AveragePoolGradient { window: *window, counted_padding: *counted_padding };
            graph.pool(op, &[gradient], &shape)
        }
        (op, _) => return Err(ShapeError(format!("{} cannot be differentiated again", op.name()))),
    })
}
