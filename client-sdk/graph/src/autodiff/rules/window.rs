//! Convolutions and pooling. Their gradients are linear in the gradient, and are differentiated no further, but for
//! the transposed convolution, which is a convolution's gradient itself.

use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, ShapeError};

/// The gradient of the input at `position`.
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
        // A transposed convolution: what it spreads is read back by the convolution of the same geometry.
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
        (op, _) => return Err(ShapeError(format!("{} is not differentiated again", op.name()))),
    })
}
