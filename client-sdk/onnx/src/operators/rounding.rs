//! Rounding, remainders, and tests for NaN and infinity, as compositions of `Floor` and comparisons.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::node::Tensor;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

/// `Ceil`: `-floor(-x)`.
pub(super) fn ceiling(node: &mut NodeLowering<'_>) -> Outputs {
    let x = only_input(node)?;
    let negative = node.unary(ElementOp::Negate, x.value)?;
    let floor = node.unary(ElementOp::Floor, negative)?;
    Ok(vec![x.with(node.unary(ElementOp::Negate, floor)?)])
}

/// `Round`: to the nearest integer; halves go to the even neighbour.
pub(super) fn round(node: &mut NodeLowering<'_>) -> Outputs {
    let x = only_input(node)?;
    let floor = node.unary(ElementOp::Floor, x.value)?;
    let fraction = node.binary(ElementOp::Subtract, x.value, floor)?;
    let half_floor = node.with_number(ElementOp::Multiply, floor, 0.5)?;
    let whole = node.unary(ElementOp::Floor, half_floor)?;
    let is_odd = node.binary(ElementOp::Less, whole, half_floor)?;
    let is_half = node.with_number(ElementOp::Equal, fraction, 0.5)?;
    let half_goes_up = node.binary(ElementOp::And, is_half, is_odd)?;
    let half = node.graph.add_scalar(0.5);
    let is_above = node.binary(ElementOp::Less, half, fraction)?;
    let goes_up = node.binary(ElementOp::Or, is_above, half_goes_up)?;
    Ok(vec![x.with(node.binary(ElementOp::Add, floor, goes_up)?)])
}

/// `Mod`: the remainder has the sign of the divisor or, with `fmod`, of the dividend.
pub(super) fn modulo(node: &mut NodeLowering<'_>) -> Outputs {
    let follows_dividend = node.attributes(&["fmod"])?.flag("fmod")?;
    node.expect_inputs(2..=2)?;
    let (a, b) = (node.input(0)?, node.value(1)?);
    let quotient = node.binary(ElementOp::Divide, a.value, b)?;
    let step = if follows_dividend { ElementOp::Truncate } else { ElementOp::Floor };
    let whole = node.unary(step, quotient)?;
    let multiple = node.binary(ElementOp::Multiply, whole, b)?;
    // Not 0 times an infinite divisor.
    let multiple = node.select(whole, multiple, whole)?;
    let rest = node.binary(ElementOp::Subtract, a.value, multiple)?;
    let of_sign = if follows_dividend { a.value } else { b };
    Ok(vec![a.with(within_divisor(node, rest, b, of_sign)?)])
}

/// Adds or subtracts the divisor once, if the remainder has the wrong sign or is too large. Adapters divide with an
/// error of a few units in the last place, so that 12 / 3 may be just below 4.
fn within_divisor(
    node: &mut NodeLowering<'_>,
    rest: ValueId,
    divisor: ValueId,
    of_sign: ValueId,
) -> Result<ValueId, ImportError> {
    let sign = node.unary(ElementOp::Sign, of_sign)?;
    let magnitude = node.unary(ElementOp::Absolute, divisor)?;
    let magnitude = node.unary(ElementOp::Detach, magnitude)?;
    let step = node.binary(ElementOp::Multiply, sign, magnitude)?;
    let signed = node.binary(ElementOp::Multiply, rest, sign)?;
    let is_below = node.with_number(ElementOp::Less, signed, 0.0)?;
    let is_beyond = node.binary(ElementOp::LessOrEqual, magnitude, signed)?;
    let raised = node.binary(ElementOp::Add, rest, step)?;
    let lowered = node.binary(ElementOp::Subtract, rest, step)?;
    let rest = node.select(is_beyond, lowered, rest)?;
    node.select(is_below, raised, rest)
}

/// `IsNaN`
pub(super) fn is_nan(node: &mut NodeLowering<'_>) -> Outputs {
    let x = only_input(node)?;
    Ok(vec![Tensor::boolean(node.unary(ElementOp::IsNan, x.value)?)])
}

/// `IsInf`: for both infinities, or for one of them.
pub(super) fn is_infinite(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["detect_negative", "detect_positive"])?;
    let finds = |name: &str| attributes.integer(name, 1).map(|flag| flag != 0);
    let (negative, positive) = (finds("detect_negative")?, finds("detect_positive")?);
    node.expect_inputs(1..=1)?;
    let x = node.value(0)?;
    let found = match (negative, positive) {
        (true, true) => {
            let magnitude = node.unary(ElementOp::Absolute, x)?;
            node.with_number(ElementOp::Equal, magnitude, f64::INFINITY)?
        }
        (true, false) => node.with_number(ElementOp::Equal, x, f64::NEG_INFINITY)?,
        (false, true) => node.with_number(ElementOp::Equal, x, f64::INFINITY)?,
        (false, false) => {
            let zero = node.graph.add_scalar(0.0);
            node.broadcast_to(zero, &node.shape(x))?
        }
    };
    Ok(vec![Tensor::boolean(found)])
}

fn only_input(node: &NodeLowering<'_>) -> Result<Tensor, ImportError> {
    node.attributes(&[])?;
    node.expect_inputs(1..=1)?;
    node.input(0)
}
