//! Elementwise operators: the local derivative times the gradient, summed over broadcast axes.

use crate::graph::{Graph, Node, ValueId};
use crate::op::{ElementOp, ShapeError};
use ElementOp::{
    Absolute, Add, And, Cosine, Detach, Divide, Equal, Erf, Exponential, Floor, IsNan, Less, LessOrEqual,
    Logarithm, Maximum, Minimum, Multiply, Negate, Not, Or, Power, Relu, Select, Sigmoid, Sign, Sine,
    SquareRoot, Subtract, Tanh, Truncate,
};

/// Returns the gradient of the input at `position`; `None` for step functions, whose derivative is 0 almost everywhere.
pub(super) fn input_gradient(
    graph: &mut Graph,
    op: ElementOp,
    node: &Node,
    position: usize,
    gradient: ValueId,
) -> Result<Option<ValueId>, ShapeError> {
    let local = match node.inputs[..] {
        [x] => of_one(graph, op, x, node.output, gradient)?,
        [a, b] => of_two(graph, op, [a, b], node.output, position, gradient)?,
        [condition, ..] => of_select(graph, condition, position, gradient)?,
        [] => None,
    };
    let shape = graph.shape(node.inputs[position]).to_vec();
    local.map(|local| graph.sum_to(local, &shape)).transpose()
}

fn of_one(
    graph: &mut Graph,
    op: ElementOp,
    x: ValueId,
    y: ValueId,
    gradient: ValueId,
) -> Result<Option<ValueId>, ShapeError> {
    let local = match op {
        Negate => graph.element(Negate, &[gradient])?,
        Absolute => {
            let sign = graph.element(Sign, &[x])?;
            graph.element(Multiply, &[gradient, sign])?
        }
        Exponential => graph.element(Multiply, &[gradient, y])?,
        Logarithm => graph.element(Divide, &[gradient, x])?,
        SquareRoot => {
            let half = graph.element_with(Multiply, gradient, 0.5)?;
            graph.element(Divide, &[half, y])?
        }
        Tanh => {
            // g (1 - y²) = g - g y y
            let product = graph.element(Multiply, &[gradient, y])?;
            let product = graph.element(Multiply, &[product, y])?;
            graph.element(Subtract, &[gradient, product])?
        }
        Sigmoid => {
            // g y (1 - y) = g y - g y y
            let product = graph.element(Multiply, &[gradient, y])?;
            let square = graph.element(Multiply, &[product, y])?;
            graph.element(Subtract, &[product, square])?
        }
        Erf => {
            let square = graph.element(Multiply, &[x, x])?;
            let negative = graph.element(Negate, &[square])?;
            let bell = graph.element(Exponential, &[negative])?;
            let bell = graph.element_with(Multiply, bell, std::f64::consts::FRAC_2_SQRT_PI)?;
            graph.element(Multiply, &[gradient, bell])?
        }
        Sine => {
            let cosine = graph.element(Cosine, &[x])?;
            graph.element(Multiply, &[gradient, cosine])?
        }
        Cosine => {
            let sine = graph.element(Sine, &[x])?;
            let product = graph.element(Multiply, &[gradient, sine])?;
            graph.element(Negate, &[product])?
        }
        Relu => {
            let zero = graph.add_scalar(0.0);
            let is_positive = graph.element(Less, &[zero, y])?;
            graph.element(Multiply, &[gradient, is_positive])?
        }
        _ => return Ok(None),
    };
    Ok(Some(local))
}

fn of_two(
    graph: &mut Graph,
    op: ElementOp,
    [a, b]: [ValueId; 2],
    y: ValueId,
    position: usize,
    gradient: ValueId,
) -> Result<Option<ValueId>, ShapeError> {
    let local = match (op, position) {
        (Add, _) | (Subtract, 0) => gradient,
        (Subtract, _) => graph.element(Negate, &[gradient])?,
        (Multiply, 0) => graph.element(Multiply, &[gradient, b])?,
        (Multiply, _) => graph.element(Multiply, &[gradient, a])?,
        (Divide, 0) => graph.element(Divide, &[gradient, b])?,
        (Divide, _) => {
            // -g a / b² = -(g y) / b
            let product = graph.element(Multiply, &[gradient, y])?;
            let quotient = graph.element(Divide, &[product, b])?;
            graph.element(Negate, &[quotient])?
        }
        (Power, 0) => {
            // g b a^(b-1)
            let exponent = graph.element_with(Subtract, b, 1.0)?;
            let power = graph.element(Power, &[a, exponent])?;
            let product = graph.element(Multiply, &[power, b])?;
            graph.element(Multiply, &[gradient, product])?
        }
        (Power, _) => {
            // g y ln a, which is 0 where a is 0
            let zero = graph.add_scalar(0.0);
            let is_positive = graph.element(Less, &[zero, a])?;
            let logarithm = graph.element(Logarithm, &[a])?;
            let logarithm = graph.element(Select, &[is_positive, logarithm, zero])?;
            let product = graph.element(Multiply, &[y, logarithm])?;
            graph.element(Multiply, &[gradient, product])?
        }
        // If both numbers are equal, the first gets the gradient.
        (Maximum, _) => of_extreme(graph, [a, b], position, gradient)?,
        (Minimum, _) => of_extreme(graph, [b, a], position, gradient)?,
        (Equal | Less | LessOrEqual | And | Or, _) => return Ok(None),
        (
            Negate | Absolute | Sign | Exponential | Logarithm | SquareRoot | Tanh | Sigmoid | Erf | Sine
            | Cosine | Relu | Floor | Truncate | Not | IsNan | Detach | Select,
            _,
        ) => unreachable!("{op:?} does not have two inputs"),
    };
    Ok(Some(local))
}

/// Passes the gradient to input 1 where `low < high`, otherwise to input 0. For a maximum, `low` and `high` are the
/// inputs in order; for a minimum they are swapped.
fn of_extreme(
    graph: &mut Graph,
    [low, high]: [ValueId; 2],
    position: usize,
    gradient: ValueId,
) -> Result<ValueId, ShapeError> {
    let is_second = graph.element(Less, &[low, high])?;
    let zero = graph.add_scalar(0.0);
    let choices = if position == 0 { [is_second, zero, gradient] } else { [is_second, gradient, zero] };
    graph.element(Select, &choices)
}

fn of_select(
    graph: &mut Graph,
    condition: ValueId,
    position: usize,
    gradient: ValueId,
) -> Result<Option<ValueId>, ShapeError> {
    let zero = graph.add_scalar(0.0);
    match position {
        1 => graph.element(Select, &[condition, gradient, zero]).map(Some),
        2 => graph.element(Select, &[condition, zero, gradient]).map(Some),
        _ => Ok(None),
    }
}
