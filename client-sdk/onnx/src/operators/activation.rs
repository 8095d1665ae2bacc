//! Activation functions composed of several operators.
//!
//! If a function selects between two branches, the unselected branch must stay finite, because its gradient is
//! multiplied by 0, and 0 times infinity is NaN.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::node::Tensor;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{ElementOp, Reduction};

const SELU_ALPHA: f32 = 1.673_263_2;
const SELU_GAMMA: f32 = 1.050_701;

/// `x`, or `alpha x` below 0.
pub(super) fn leaky_relu(node: &mut NodeLowering<'_>) -> Outputs {
    let alpha = node.attributes(&["alpha"])?.float("alpha", 0.01)?;
    let x = only_input(node)?;
    let scaled = node.with_number(ElementOp::Multiply, x.value, alpha.into())?;
    Ok(vec![x.with(below_zero(node, x.value, scaled, x.value)?)])
}

/// `x`, or `slope x` below 0.
pub(super) fn parametric_relu(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    node.expect_inputs(2..=2)?;
    let (x, slope) = (node.input(0)?, node.value(1)?);
    let scaled = node.binary(ElementOp::Multiply, x.value, slope)?;
    if node.shape(scaled) != node.shape(x.value) {
        return Err(node.refuse("has slopes that do not broadcast to the input's shape"));
    }
    Ok(vec![x.with(below_zero(node, x.value, scaled, x.value)?)])
}

/// `x`, or `alpha (e^x - 1)` below 0.
pub(super) fn elu(node: &mut NodeLowering<'_>) -> Outputs {
    let alpha = node.attributes(&["alpha"])?.float("alpha", 1.0)?;
    let x = only_input(node)?;
    let bent = exponential_below_zero(node, x.value, alpha.into())?;
    Ok(vec![x.with(below_zero(node, x.value, bent, x.value)?)])
}

/// `gamma` times `Elu`.
pub(super) fn selu(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["alpha", "gamma"])?;
    let (alpha, gamma) = (attributes.float("alpha", SELU_ALPHA)?, attributes.float("gamma", SELU_GAMMA)?);
    let x = only_input(node)?;
    let bent = exponential_below_zero(node, x.value, alpha.into())?;
    let elu = below_zero(node, x.value, bent, x.value)?;
    Ok(vec![x.with(node.with_number(ElementOp::Multiply, elu, gamma.into())?)])
}

/// `x Φ(x)`, with Φ from the error function or from an approximation by tanh (Hendrycks and Gimpel 2016).
pub(super) fn gelu(node: &mut NodeLowering<'_>) -> Outputs {
    let approximate = node.attributes(&["approximate"])?.text("approximate")?.unwrap_or("none");
    let x = only_input(node)?;
    let bent = match approximate {
        "none" => {
            let scaled = node.with_number(ElementOp::Multiply, x.value, 0.5f64.sqrt())?;
            node.unary(ElementOp::Erf, scaled)?
        }
        "tanh" => {
            let square = node.binary(ElementOp::Multiply, x.value, x.value)?;
            let scaled = node.with_number(ElementOp::Multiply, square, 0.044_715)?;
            let factor = node.with_number(ElementOp::Add, scaled, 1.0)?;
            let cubic = node.binary(ElementOp::Multiply, x.value, factor)?;
            let scale = std::f64::consts::FRAC_2_PI.sqrt();
            let scaled = node.with_number(ElementOp::Multiply, cubic, scale)?;
            node.unary(ElementOp::Tanh, scaled)?
        }
        other => {
            return Err(
                node.refuse(&format!("has the unknown approximation {other}; none and tanh are supported"))
            );
        }
    };
    let shifted = node.with_number(ElementOp::Add, bent, 1.0)?;
    let half = node.with_number(ElementOp::Multiply, x.value, 0.5)?;
    Ok(vec![x.with(node.binary(ElementOp::Multiply, half, shifted)?)])
}

/// `alpha x + beta`, clamped to [0, 1].
pub(super) fn hard_sigmoid(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["alpha", "beta"])?;
    let (alpha, beta) = (attributes.float("alpha", 0.2)?, attributes.float("beta", 0.5)?);
    let x = only_input(node)?;
    Ok(vec![x.with(line_within_one(node, x.value, alpha.into(), beta.into())?)])
}

/// `x · clamp(x / 6 + 1 / 2, 0, 1)`
pub(super) fn hard_swish(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    let x = only_input(node)?;
    let gate = line_within_one(node, x.value, 1.0 / 6.0, 0.5)?;
    Ok(vec![x.with(node.binary(ElementOp::Multiply, x.value, gate)?)])
}

/// `log(1 + e^x)`
pub(super) fn softplus(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    let x = only_input(node)?;
    Ok(vec![x.with(logarithm_of_one_plus_exponential(node, x.value)?)])
}

/// `x tanh(softplus(x))` (Misra 2019).
pub(super) fn mish(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    let x = only_input(node)?;
    let softplus = logarithm_of_one_plus_exponential(node, x.value)?;
    let gate = node.unary(ElementOp::Tanh, softplus)?;
    Ok(vec![x.with(node.binary(ElementOp::Multiply, x.value, gate)?)])
}

/// `x sigmoid(alpha x)` (Ramachandran et al. 2017).
pub(super) fn swish(node: &mut NodeLowering<'_>) -> Outputs {
    let alpha = node.attributes(&["alpha"])?.float("alpha", 1.0)?;
    let x = only_input(node)?;
    let scaled = node.with_number(ElementOp::Multiply, x.value, alpha.into())?;
    let gate = node.unary(ElementOp::Sigmoid, scaled)?;
    Ok(vec![x.with(node.binary(ElementOp::Multiply, x.value, gate)?)])
}

/// `log(1 + e^x)`, computed as `m + log(e^(x - m) + e^-m)` with `m = max(x, 0)`. Nothing overflows. The gradient is the
/// sigmoid everywhere, because the gradients through `m` cancel.
fn logarithm_of_one_plus_exponential(
    node: &mut NodeLowering<'_>,
    x: ValueId,
) -> Result<ValueId, ImportError> {
    let largest = node.with_number(ElementOp::Maximum, x, 0.0)?;
    let shifted = node.binary(ElementOp::Subtract, x, largest)?;
    let shifted = node.unary(ElementOp::Exponential, shifted)?;
    let rest = node.unary(ElementOp::Negate, largest)?;
    let rest = node.unary(ElementOp::Exponential, rest)?;
    let sum = node.binary(ElementOp::Add, shifted, rest)?;
    let logarithm = node.unary(ElementOp::Logarithm, sum)?;
    node.binary(ElementOp::Add, largest, logarithm)
}

/// `Clip`. The bounds are inputs or, in old files, attributes. If they cross, the upper bound wins.
pub(super) fn clip(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["min", "max"])?;
    node.expect_inputs(1..=3)?;
    let x = node.input(0)?;
    let mut value = x.value;
    let bounds = [("min", 1, ElementOp::Maximum), ("max", 2, ElementOp::Minimum)];
    for (name, position, op) in bounds {
        if let Some(bound) = node.optional(position) {
            value = node.binary(op, value, bound.value)?;
        } else if attributes.has(name) {
            let bound = attributes.float(name, 0.0)?;
            value = node.with_number(op, value, bound.into())?;
        }
    }
    Ok(vec![x.with(value)])
}

/// `Softmax`: `e^x` divided by its sum.
pub(super) fn softmax(node: &mut NodeLowering<'_>) -> Outputs {
    let (x, shifted, axes) = shifted_by_maximum(node)?;
    let exponentials = node.unary(ElementOp::Exponential, shifted)?;
    let sum = node.reduce(Reduction::Sum, exponentials, &axes);
    Ok(vec![x.with(node.binary(ElementOp::Divide, exponentials, sum)?)])
}

/// The logarithm of `Softmax`.
pub(super) fn log_softmax(node: &mut NodeLowering<'_>) -> Outputs {
    let (x, shifted, axes) = shifted_by_maximum(node)?;
    let exponentials = node.unary(ElementOp::Exponential, shifted)?;
    let sum = node.reduce(Reduction::Sum, exponentials, &axes);
    let logarithm = node.unary(ElementOp::Logarithm, sum)?;
    Ok(vec![x.with(node.binary(ElementOp::Subtract, shifted, logarithm)?)])
}

/// Returns the input, the input minus its maximum along the axes, and the axes.
///
/// Before opset 13, the axes are all axes from the attribute `axis` on.
fn shifted_by_maximum(node: &mut NodeLowering<'_>) -> Result<(Tensor, ValueId, Vec<usize>), ImportError> {
    let default = if node.opset < 13 { 1 } else { -1 };
    let axis = node.attributes(&["axis"])?.integer("axis", default)?;
    let x = only_input(node)?;
    let rank = node.graph.shape(x.value).len();
    let axis = node.axis(axis, rank)?;
    let axes: Vec<usize> = if node.opset < 13 { (axis..rank).collect() } else { vec![axis] };
    // The gradients through the maximum cancel.
    let largest = node.reduce(Reduction::Maximum, x.value, &axes);
    let largest = node.unary(ElementOp::Detach, largest)?;
    Ok((x, node.binary(ElementOp::Subtract, x.value, largest)?, axes))
}

fn only_input(node: &NodeLowering<'_>) -> Result<Tensor, ImportError> {
    node.expect_inputs(1..=1)?;
    node.input(0)
}

/// `x < 0 ? below : otherwise`
fn below_zero(
    node: &mut NodeLowering<'_>,
    x: ValueId,
    below: ValueId,
    otherwise: ValueId,
) -> Result<ValueId, ImportError> {
    let is_below = node.with_number(ElementOp::Less, x, 0.0)?;
    node.select(is_below, below, otherwise)
}

/// `alpha (e^min(x, 0) - 1)`
fn exponential_below_zero(
    node: &mut NodeLowering<'_>,
    x: ValueId,
    alpha: f64,
) -> Result<ValueId, ImportError> {
    let negative = node.with_number(ElementOp::Minimum, x, 0.0)?;
    let exponential = node.unary(ElementOp::Exponential, negative)?;
    let shifted = node.with_number(ElementOp::Subtract, exponential, 1.0)?;
    node.with_number(ElementOp::Multiply, shifted, alpha)
}

/// `alpha x + beta`, clamped to [0, 1].
fn line_within_one(
    node: &mut NodeLowering<'_>,
    x: ValueId,
    alpha: f64,
    beta: f64,
) -> Result<ValueId, ImportError> {
    let scaled = node.with_number(ElementOp::Multiply, x, alpha)?;
    let line = node.with_number(ElementOp::Add, scaled, beta)?;
    let below_one = node.with_number(ElementOp::Minimum, line, 1.0)?;
    node.with_number(ElementOp::Maximum, below_one, 0.0)
}
