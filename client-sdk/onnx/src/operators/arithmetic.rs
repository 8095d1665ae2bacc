//! Arithmetic, comparison and logic, element by element.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::node::Tensor;
use crate::tensor::ElementType;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

/// An elementwise operator with one input.
pub(super) fn unary(node: &mut NodeLowering<'_>, op: ElementOp) -> Outputs {
    let [input] = inputs(node)?;
    Ok(vec![input.with(node.unary(op, input.value)?)])
}

/// An elementwise operator with two inputs. Division of integers truncates.
pub(super) fn binary(node: &mut NodeLowering<'_>, op: ElementOp) -> Outputs {
    let [a, b] = inputs(node)?;
    let result = a.with(node.binary(op, a.value, b.value)?);
    let is_whole = a.element_type == ElementType::Integer && op == ElementOp::Divide;
    Ok(vec![if is_whole { result.with(node.unary(ElementOp::Truncate, result.value)?) } else { result }])
}

/// `Pow`: the result has the type of the base.
pub(super) fn power(node: &mut NodeLowering<'_>) -> Outputs {
    let [base, exponent] = inputs(node)?;
    let result = base.with(node.binary(ElementOp::Power, base.value, exponent.value)?);
    let is_whole = base.element_type == ElementType::Integer && exponent.element_type == ElementType::Float;
    Ok(vec![if is_whole { result.with(node.unary(ElementOp::Truncate, result.value)?) } else { result }])
}

/// `1 / x`
pub(super) fn reciprocal(node: &mut NodeLowering<'_>) -> Outputs {
    let [input] = inputs(node)?;
    Ok(vec![input.with(node.number_over(1.0, input.value)?)])
}

/// A comparison; the result is boolean.
pub(super) fn comparison(node: &mut NodeLowering<'_>, op: ElementOp) -> Outputs {
    let [a, b] = inputs(node)?;
    Ok(vec![Tensor::boolean(node.binary(op, a.value, b.value)?)])
}

/// A comparison with its inputs swapped.
pub(super) fn reversed_comparison(node: &mut NodeLowering<'_>, op: ElementOp) -> Outputs {
    let [a, b] = inputs(node)?;
    Ok(vec![Tensor::boolean(node.binary(op, b.value, a.value)?)])
}

/// A logical operator on two booleans.
pub(super) fn logic(node: &mut NodeLowering<'_>, op: ElementOp) -> Outputs {
    comparison(node, op)
}

/// `Not`
pub(super) fn not(node: &mut NodeLowering<'_>) -> Outputs {
    let [input] = inputs(node)?;
    Ok(vec![Tensor::boolean(node.unary(ElementOp::Not, input.value)?)])
}

/// `Xor`: whether the booleans differ.
pub(super) fn exclusive_or(node: &mut NodeLowering<'_>) -> Outputs {
    let [a, b] = inputs(node)?;
    let a = node.unary(ElementOp::Not, a.value)?;
    let b = node.unary(ElementOp::Not, b.value)?;
    let equal = node.binary(ElementOp::Equal, a, b)?;
    Ok(vec![Tensor::boolean(node.unary(ElementOp::Not, equal)?)])
}

/// `Where`
pub(super) fn select(node: &mut NodeLowering<'_>) -> Outputs {
    let [condition, a, b] = inputs(node)?;
    Ok(vec![a.with(node.select(condition.value, a.value, b.value)?)])
}

/// Folds any number of tensors with an elementwise operator.
pub(super) fn variadic(node: &mut NodeLowering<'_>, op: ElementOp) -> Outputs {
    node.attributes(&[])?;
    let first = node.input(0)?;
    Ok(vec![first.with(accumulate(node, op)?)])
}

/// `Mean` of any number of tensors.
pub(super) fn mean(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    let sum = accumulate(node, ElementOp::Add)?;
    let count = node.inputs.len() as f64;
    Ok(vec![Tensor::float(node.with_number(ElementOp::Divide, sum, count)?)])
}

fn accumulate(node: &mut NodeLowering<'_>, op: ElementOp) -> Result<ValueId, ImportError> {
    let first = node.value(0)?;
    (1..node.inputs.len()).try_fold(first, |result, position| {
        let next = node.value(position)?;
        node.binary(op, result, next)
    })
}

/// Returns the inputs of an operator without attributes.
fn inputs<const COUNT: usize>(node: &NodeLowering<'_>) -> Result<[Tensor; COUNT], ImportError> {
    node.attributes(&[])?;
    node.expect_inputs(COUNT..=COUNT)?;
    let mut inputs = [node.input(0)?; COUNT];
    for (position, input) in inputs.iter_mut().enumerate() {
        *input = node.input(position)?;
    }
    Ok(inputs)
}
