//! Losses that measure the distance between outputs and targets.

use folkmoot_graph::op::{ElementOp, Reduction, ShapeError};
use folkmoot_graph::{Graph, ValueId};

/// Added to a sum of squares before the square root, so that a row of zeros has a gradient.
const SQUARES_MIN: f64 = 1e-12;

/// (x − t)².
pub(super) fn squared_error(graph: &mut Graph, x: ValueId, t: ValueId) -> Result<ValueId, ShapeError> {
    let difference = graph.element(ElementOp::Subtract, &[x, t])?;
    graph.element(ElementOp::Multiply, &[difference, difference])
}

/// |x − t|.
pub(super) fn absolute_error(graph: &mut Graph, x: ValueId, t: ValueId) -> Result<ValueId, ShapeError> {
    let difference = graph.element(ElementOp::Subtract, &[x, t])?;
    graph.element(ElementOp::Absolute, &[difference])
}

/// q²/2 + delta·(|d| − q) with d = x − t and q = min(|d|, delta). This one form covers both branches.
pub(super) fn huber(graph: &mut Graph, x: ValueId, t: ValueId, delta: f32) -> Result<ValueId, ShapeError> {
    let size = absolute_error(graph, x, t)?;
    let near = graph.element_with(ElementOp::Minimum, size, delta.into())?;
    let square = graph.element(ElementOp::Multiply, &[near, near])?;
    let half_square = graph.element_with(ElementOp::Multiply, square, 0.5)?;
    let far = graph.element(ElementOp::Subtract, &[size, near])?;
    let line = graph.element_with(ElementOp::Multiply, far, delta.into())?;
    graph.element(ElementOp::Add, &[half_square, line])
}

/// 1 − Σ x·t / (√Σx² · √Σt²) over the last axis.
pub(super) fn cosine(graph: &mut Graph, x: ValueId, t: ValueId) -> Result<ValueId, ShapeError> {
    let product = sum_of_products(graph, x, t)?;
    let length = length(graph, x)?;
    let target_length = self::length(graph, t)?;
    let scale = graph.element(ElementOp::Multiply, &[length, target_length])?;
    let cosine = graph.element(ElementOp::Divide, &[product, scale])?;
    let one = graph.add_scalar(1.0);
    graph.element(ElementOp::Subtract, &[one, cosine])
}

fn length(graph: &mut Graph, x: ValueId) -> Result<ValueId, ShapeError> {
    let squares = sum_of_products(graph, x, x)?;
    let positive = graph.element_with(ElementOp::Add, squares, SQUARES_MIN)?;
    graph.element(ElementOp::SquareRoot, &[positive])
}

fn sum_of_products(graph: &mut Graph, a: ValueId, b: ValueId) -> Result<ValueId, ShapeError> {
    let products = graph.element(ElementOp::Multiply, &[a, b])?;
    let axis = graph.shape(products).len() - 1;
    Ok(graph.reduce(Reduction::Sum, products, &[axis]))
}
