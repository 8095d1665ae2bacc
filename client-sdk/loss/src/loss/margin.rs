//! Losses of a score whose sign predicts the class.

use folkmoot_graph::op::{ElementOp, ShapeError};
use folkmoot_graph::{Graph, ValueId};

/// log(1 + eˣ) − t·x, computed as (½ − t)·x + ½|x| + log(1 + e^−|x|).
///
/// This form cannot overflow. With |x|' = 0 at 0, its gradient at x = 0 is ½ − t, as it should be. The usual form with
/// max(x, 0) has another gradient there. This matters because all logits are 0 if all weights start at 0.
pub(super) fn binary_cross_entropy(
    graph: &mut Graph,
    logits: ValueId,
    targets: ValueId,
) -> Result<ValueId, ShapeError> {
    let half = graph.add_scalar(0.5);
    let slope = graph.element(ElementOp::Subtract, &[half, targets])?;
    let line = graph.element(ElementOp::Multiply, &[slope, logits])?;
    let size = graph.element(ElementOp::Absolute, &[logits])?;
    let half_size = graph.element_with(ElementOp::Multiply, size, 0.5)?;
    let sum = graph.element(ElementOp::Add, &[line, half_size])?;
    let negative = graph.element(ElementOp::Negate, &[size])?;
    let exponential = graph.element(ElementOp::Exponential, &[negative])?;
    let above_one = graph.element_with(ElementOp::Add, exponential, 1.0)?;
    let logarithm = graph.element(ElementOp::Logarithm, &[above_one])?;
    graph.element(ElementOp::Add, &[sum, logarithm])
}

/// max(0, 1 − s·x) with s = 2t − 1.
pub(super) fn hinge(graph: &mut Graph, scores: ValueId, targets: ValueId) -> Result<ValueId, ShapeError> {
    let doubled = graph.element_with(ElementOp::Multiply, targets, 2.0)?;
    let sign = graph.element_with(ElementOp::Subtract, doubled, 1.0)?;
    let product = graph.element(ElementOp::Multiply, &[sign, scores])?;
    let one = graph.add_scalar(1.0);
    let margin = graph.element(ElementOp::Subtract, &[one, product])?;
    graph.element(ElementOp::Relu, &[margin])
}
