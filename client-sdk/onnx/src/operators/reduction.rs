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

/// `ReduceL1`: the sum of absolute values.
pub(super) fn absolute_sum(node: &mut NodeLowering<'_>) -> Outputs {
    let over = over(node)?;
    let magnitudes = node.unary(ElementOp::Absolute, over.input.value)?;
    let sum = sum(node, &over, magnitudes)?;
    finish(node, &over, sum)
}

/// `ReduceSumSquare`
pub(super) fn square_sum(node: &mut NodeLowering<'_>) -> Outputs {
    let over = over(node)?;
    let sum = sum_of_squares(node, &over)?;
    finish(node, &over, sum)
}

/// `ReduceL2`: the Euclidean norm. Its gradient at 0 is 0.
pub(super) fn norm(node: &mut NodeLowering<'_>) -> Outputs {
    let over = over(node)?;
    let squares = sum_of_squares(node, &over)?;
    // The root of 1 instead of 0, whose derivative is infinite.
    let is_zero = node.unary(ElementOp::Not, squares)?;
    let positive = node.binary(ElementOp::Add, squares, is_zero)?;
    let root = node.unary(ElementOp::SquareRoot, positive)?;
    let zero = node.graph.add_scalar(0.0);
    let mut norm = node.select(is_zero, zero, root)?;
    if over.input.element_type == ElementType::Integer {
        norm = node.unary(ElementOp::Truncate, norm)?;
    }
    finish(node, &over, norm)
}

/// `ReduceLogSum`: the logarithm of the sum.
pub(super) fn logarithm_of_sum(node: &mut NodeLowering<'_>) -> Outputs {
    let over = over(node)?;
    let sum = sum(node, &over, over.input.value)?;
    let logarithm = node.unary(ElementOp::Logarithm, sum)?;
    finish(node, &over, logarithm)
}

/// `ReduceLogSumExp`: the logarithm of the sum of exponentials, relative to the maximum so that nothing overflows.
pub(super) fn logarithm_of_exponentials(node: &mut NodeLowering<'_>) -> Outputs {
    let over = over(node)?;
    let x = over.input.value;
    if node.graph.shape(x).contains(&0) {
        let sum = sum(node, &over, x)?;
        let logarithm = node.unary(ElementOp::Logarithm, sum)?;
        return finish(node, &over, logarithm);
    }
    let largest = node.reduce(Reduction::Maximum, x, &over.axes);
    let magnitude = node.unary(ElementOp::Absolute, largest)?;
    let is_infinite = node.with_number(ElementOp::Equal, magnitude, f64::INFINITY)?;
    let zero = node.graph.add_scalar(0.0);
    let shift = node.select(is_infinite, zero, largest)?;
    // The gradients through the shift cancel.
    let shift = node.unary(ElementOp::Detach, shift)?;
    let shifted = node.binary(ElementOp::Subtract, x, shift)?;
    let exponentials = node.unary(ElementOp::Exponential, shifted)?;
    let sum = node.reduce(Reduction::Sum, exponentials, &over.axes);
    let logarithm = node.unary(ElementOp::Logarithm, sum)?;
    let result = node.binary(ElementOp::Add, logarithm, shift)?;
    finish(node, &over, result)
}

/// `ReduceProd`: multiplies the halves of each axis until one element is left, so the gradient is right at 0 too.
pub(super) fn product(node: &mut NodeLowering<'_>) -> Outputs {
    let over = over(node)?;
    let mut result = over.input.value;
    let mut shape = node.shape(result);
    if shape.contains(&0) {
        over.axes.iter().for_each(|axis| shape[*axis] = 1);
        result = match shape.contains(&0) {
            true => node.empty(&shape),
            false => {
                let one = node.graph.add_scalar(1.0);
                node.broadcast_to(one, &shape)?
            }
        };
        return finish(node, &over, result);
    }
    for axis in &over.axes {
        let mut size = shape[*axis];
        while size > 1 {
            let half = size / 2;
            let first = node.slice_axis(result, *axis, 0, half)?;
            let second = node.slice_axis(result, *axis, half, half)?;
            let multiplied = node.binary(ElementOp::Multiply, first, second)?;
            result = match size % 2 {
                0 => multiplied,
                _ => {
                    let last = node.slice_axis(result, *axis, size - 1, 1)?;
                    node.concat(&[multiplied, last], *axis)?
                }
            };
            size = size.div_ceil(2);
        }
    }
    finish(node, &over, result)
}

fn sum_of_squares(node: &mut NodeLowering<'_>, over: &Over) -> Result<ValueId, ImportError> {
    let squares = node.binary(ElementOp::Multiply, over.input.value, over.input.value)?;
    sum(node, over, squares)
}

/// Sums over the axes; the sum of no elements is 0.
fn sum(node: &mut NodeLowering<'_>, over: &Over, value: ValueId) -> Result<ValueId, ImportError> {
    let shape = node.shape(value);
    if shape.contains(&0) {
        return of_nothing(node, Reduction::Sum, over, shape);
    }
    Ok(node.reduce(Reduction::Sum, value, &over.axes))
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
