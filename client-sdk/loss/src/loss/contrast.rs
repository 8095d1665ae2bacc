//! The contrast of features with those of two other models.

use folkmoot_graph::op::{ElementOp, ShapeError};
use folkmoot_graph::{Graph, ValueId};
use folkmoot_protocol::ModelContrast;

use super::{margin, mean, regression};

/// Appends the term of a plan's contrast (MOON: Li, He and Song 2021, equation 3), as a scalar: its weight times the mean of
/// log(1 + e^((cos(z, zₚ) − cos(z, zᵥ)) / temperature)).
///
/// `features` is z, `[batch, …]`. `references` are zᵥ and zₚ, `[batch, features]` each. `shares` is `[batch]`, the share of each
/// example in the mean; without it, all examples count equally.
///
/// # Errors
/// Returns a [`ShapeError`] if the shapes differ.
pub fn contrast(
    graph: &mut Graph,
    plan: &ModelContrast,
    features: ValueId,
    references: [ValueId; 2],
    shares: Option<ValueId>,
) -> Result<ValueId, ShapeError> {
    let shape = graph.shape(references[0]).to_vec();
    let features = graph.reshape(features, &shape)?;
    let [version, previous] = references;
    let from_version = regression::cosine(graph, features, version)?;
    let from_previous = regression::cosine(graph, features, previous)?;
    let difference = graph.element(ElementOp::Subtract, &[from_version, from_previous])?;
    let logit = graph.element_with(ElementOp::Divide, difference, plan.temperature.into())?;
    let nothing = graph.add_scalar(0.0);
    let losses = margin::binary_cross_entropy(graph, logit, nothing)?;
    let mean = mean(graph, losses, shares)?;
    graph.element_with(ElementOp::Multiply, mean, plan.weight.into())
}
