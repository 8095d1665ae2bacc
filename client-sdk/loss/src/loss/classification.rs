//! Losses over a softmax along the last axis. Targets are distributions; a class number is a one-hot distribution.

use folkmoot_graph::op::{ElementOp, Reduction, ShapeError};
use folkmoot_graph::{Graph, ValueId};

/// The lower bound of a target when its logarithm is taken: less than any positive target. It keeps the logarithm of 0
/// finite; the logarithm is then multiplied by the target 0.
const SHARE_MIN: f64 = 1e-30;

/// −Σ t·log softmax(x).
pub(super) fn softmax_cross_entropy(
    graph: &mut Graph,
    logits: ValueId,
    targets: ValueId,
) -> Result<ValueId, ShapeError> {
    let surprise = surprise(graph, logits)?;
    expectation(graph, targets, surprise)
}

/// Σ t·(log t − log softmax(x)), where 0·log 0 is 0.
pub(super) fn kl_divergence(
    graph: &mut Graph,
    logits: ValueId,
    targets: ValueId,
) -> Result<ValueId, ShapeError> {
    let positive = graph.element_with(ElementOp::Maximum, targets, SHARE_MIN)?;
    let logarithm = graph.element(ElementOp::Logarithm, &[positive])?;
    let surprise = surprise(graph, logits)?;
    let difference = graph.element(ElementOp::Add, &[surprise, logarithm])?;
    expectation(graph, targets, difference)
}

/// Σ t·(1 − p^q) / q with p = softmax(x), where p^q is e^(q·log softmax(x)) (Zhang and Sabuncu 2018, equation 6). The gradient
/// through the exponential stays precise where p is small, as it is for wrong labels.
pub(super) fn generalized_cross_entropy(
    graph: &mut Graph,
    logits: ValueId,
    targets: ValueId,
    q: f32,
) -> Result<ValueId, ShapeError> {
    let surprise = surprise(graph, logits)?;
    let exponent = graph.element_with(ElementOp::Multiply, surprise, -f64::from(q))?;
    let power = graph.element(ElementOp::Exponential, &[exponent])?;
    let one = graph.add_scalar(1.0);
    let difference = graph.element(ElementOp::Subtract, &[one, power])?;
    let losses = graph.element_with(ElementOp::Divide, difference, q.into())?;
    expectation(graph, targets, losses)
}

/// −alpha·Σ t·log p − beta·Σ p·max(log t, floor) with p = softmax(x) (Wang et al. 2019, section 4).
pub(super) fn symmetric_cross_entropy(
    graph: &mut Graph,
    logits: ValueId,
    targets: ValueId,
    [alpha, beta, floor]: [f32; 3],
) -> Result<ValueId, ShapeError> {
    let surprise = surprise(graph, logits)?;
    let forward = expectation(graph, targets, surprise)?;
    let negative = graph.element(ElementOp::Negate, &[surprise])?;
    let probabilities = graph.element(ElementOp::Exponential, &[negative])?;
    let positive = graph.element_with(ElementOp::Maximum, targets, f64::from(floor).exp())?;
    let logarithm = graph.element(ElementOp::Logarithm, &[positive])?;
    let reverse = expectation(graph, probabilities, logarithm)?;
    let forward = graph.element_with(ElementOp::Multiply, forward, alpha.into())?;
    let reverse = graph.element_with(ElementOp::Multiply, reverse, beta.into())?;
    graph.element(ElementOp::Subtract, &[forward, reverse])
}

/// −log softmax(x). The largest logit is subtracted first, so that nothing overflows.
fn surprise(graph: &mut Graph, logits: ValueId) -> Result<ValueId, ShapeError> {
    let axis = graph.shape(logits).len() - 1;
    // The gradients through the maximum cancel.
    let maximum = graph.reduce(Reduction::Maximum, logits, &[axis]);
    let maximum = graph.element(ElementOp::Detach, &[maximum])?;
    let shifted = graph.element(ElementOp::Subtract, &[logits, maximum])?;
    let exponential = graph.element(ElementOp::Exponential, &[shifted])?;
    let sum = graph.reduce(Reduction::Sum, exponential, &[axis]);
    let logarithm = graph.element(ElementOp::Logarithm, &[sum])?;
    graph.element(ElementOp::Subtract, &[logarithm, shifted])
}

/// Σ t·x over the last axis.
pub(super) fn expectation(
    graph: &mut Graph,
    targets: ValueId,
    values: ValueId,
) -> Result<ValueId, ShapeError> {
    let weighted = graph.element(ElementOp::Multiply, &[targets, values])?;
    let axis = graph.shape(weighted).len() - 1;
    Ok(graph.reduce(Reduction::Sum, weighted, &[axis]))
}
