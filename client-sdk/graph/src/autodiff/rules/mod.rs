//! The gradient rule of each operator.

mod elementwise;
mod matrix;
mod reduction;
mod window;

use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, ShapeError};

/// Appends the contribution of `node` to the gradient of its input at `position`, given the gradient of its output. The
/// result has the shape of that input; it is `None` if the contribution is 0 everywhere.
///
/// # Errors
/// Returns a [`ShapeError`] only if a rule has a bug.
pub(super) fn input_gradient(
    graph: &mut Graph,
    node: &Node,
    position: usize,
    gradient: ValueId,
) -> Result<Option<ValueId>, ShapeError> {
    let input = node.inputs[position];
    let shape = graph.shape(input).to_vec();
    let part = match &node.op {
        Op::Element(op) => return elementwise::input_gradient(graph, *op, node, position, gradient),
        Op::Reshape => graph.reshape(gradient, &shape)?,
        Op::Transpose { axes } => {
            let mut inverse = vec![0; axes.len()];
            axes.iter().enumerate().for_each(|(to, from)| inverse[*from] = to);
            graph.transpose(gradient, &inverse)?
        }
        Op::Broadcast => graph.sum_to(gradient, &shape)?,
        Op::SumTo => {
            // Restores the leading axes of size 1 that the sum dropped.
            let padding = shape.len() - graph.shape(gradient).len();
            let padded = [&vec![1; padding][..], graph.shape(gradient)].concat();
            let reshaped = graph.reshape(gradient, &padded)?;
            graph.broadcast_to(reshaped, &shape)?
        }
        Op::Reduce { kind, axes } => reduction::input_gradient(graph, node, *kind, axes, gradient)?,
        Op::MatMul { transpose_a, transpose_b } => {
            matrix::input_gradient(graph, node, position, gradient, *transpose_a, *transpose_b)?
        }
        Op::Slice { starts, steps } => graph.unslice(gradient, starts, steps, &shape)?,
        Op::Unslice { starts, steps } => graph.slice(gradient, starts, steps, &shape)?,
        Op::Concat { axis } => {
            let start = node.inputs[..position].iter().map(|input| graph.shape(*input)[*axis]).sum();
            graph.slice_axis(gradient, *axis, start, shape[*axis])?
        }
        Op::Gather { axis } if position == 0 => graph.scatter_add(gradient, node.inputs[1], *axis, &shape),
        Op::ScatterAdd { axis } if position == 0 => graph.gather(gradient, node.inputs[1], *axis),
        Op::ArgMaximum { .. } | Op::Random { .. } | Op::Gather { .. } | Op::ScatterAdd { .. } => {
            return Ok(None);
        }
        _ => return window::input_gradient(graph, node, position, gradient).map(Some),
    };
    Ok(Some(part))
}
