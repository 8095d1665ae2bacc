//! Reductions over axes, and `ArgMax` and `ArgMin`.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::node::Tensor;
use crate::tensor::ElementType;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{ElementOp, Reduction};

/// The attributes and axes of a reduction.
struct Over {
    input: Tensor,
    axes: Vec<usize>,
    keeps_dimensions: bool,
}

/// `ReduceSum`, `ReduceMax` and `ReduceMin`.
pub(super) fn reduce(node: &mut NodeLowering<'_>, kind: Reduction) -> Outputs {
    let over = over(node)?;
    let shape = node.shape(over.input.value);
    let result = if shape.contains(&0) {
        of_nothing(node, kind, &over, shape)?
    } else {
        node.reduce(kind, over.input.value, &over.axes)
    };
    finish(node, &over, result)
}

/// `ReduceMean`
pub(super) fn mean(node: &mut NodeLowering<'_>) -> Outputs {
    let over = over(node)?;
    let mut result = node.mean(over.input.value, &over.axes)?;
    if over.input.element_type == ElementType::Integer {
        result = node.unary(ElementOp::Truncate, result)?;
    }
    finish(node, &over, result)
}

fn over(node: &NodeLowering<'_>) -> Result<Over, ImportError> {
    let attributes = node.attributes(&["axes", "keepdims", "noop_with_empty_axes"])?;
    node.expect_inputs(1..=2)?;
    let input = node.input(0)?;
    let rank = node.graph.shape(input.value).len();
    let axes = node.integers(&attributes, "axes", 1)?.unwrap_or_default();
    let axes = match &axes[..] {
        [] if attributes.flag("noop_with_empty_axes")? => vec![],
        [] => (0..rank).collect(),
        axes => node.axes(axes, rank)?,
    };
    Ok(Over { input, axes, keeps_dimensions: attributes.integer("keepdims", 1)? != 0 })
}

/// Returns the result of reducing an empty axis: 0 for a sum, -∞ for a maximum, ∞ for a minimum. For booleans, the
/// maximum is 0 and the minimum 1.
fn of_nothing(
    node: &mut NodeLowering<'_>,
    kind: Reduction,
    over: &Over,
    mut shape: Vec<usize>,
) -> Result<ValueId, ImportError> {
    over.axes.iter().for_each(|axis| shape[*axis] = 1);
    if shape.contains(&0) {
        return Ok(node.empty(&shape));
    }
    let number = match (kind, over.input.element_type) {
        (Reduction::Sum, _) | (Reduction::Maximum, ElementType::Boolean) => 0.0,
        (Reduction::Minimum, ElementType::Boolean) => 1.0,
        (_, ElementType::Integer) => {
            return Err(node.refuse("takes the maximum or minimum of no integers, which is undefined"));
        }
        (Reduction::Maximum, ElementType::Float) => f64::NEG_INFINITY,
        (Reduction::Minimum, ElementType::Float) => f64::INFINITY,
    };
    let number = node.graph.add_scalar(number);
    node.broadcast_to(number, &shape)
}

fn finish(node: &mut NodeLowering<'_>, over: &Over, result: ValueId) -> Outputs {
    Ok(vec![over.input.with(without_axes(node, result, over)?)])
}

fn without_axes(node: &mut NodeLowering<'_>, result: ValueId, over: &Over) -> Result<ValueId, ImportError> {
    if over.keeps_dimensions {
        return Ok(result);
    }
    let sizes = node.shape(result).into_iter().enumerate();
    let left: Vec<usize> =
        sizes.filter(|(axis, _)| !over.axes.contains(axis)).map(|(_, size)| size).collect();
    node.reshape(result, &left)
}

/// `ArgMax`, and `ArgMin` as `ArgMax` of the negated input.
pub(super) fn argument(node: &mut NodeLowering<'_>, kind: Reduction) -> Outputs {
    let attributes = node.attributes(&["axis", "keepdims", "select_last_index"])?;
    node.expect_inputs(1..=1)?;
    let input = node.input(0)?;
    let axis = node.axis(attributes.integer("axis", 0)?, node.graph.shape(input.value).len())?;
    let keeps_dimensions = attributes.integer("keepdims", 1)? != 0;
    let last = attributes.flag("select_last_index")?;
    let value = match kind {
        Reduction::Minimum => node.unary(ElementOp::Negate, input.value)?,
        _ => input.value,
    };
    let result = node.graph.argument_of_maximum(value, axis, last);
    let over = Over { input, axes: vec![axis], keeps_dimensions };
    Ok(vec![Tensor::integer(without_axes(node, result, &over)?)])
}
