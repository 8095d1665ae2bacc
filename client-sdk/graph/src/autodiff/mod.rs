//! Reverse-mode differentiation: appends the nodes that compute gradients to the graph.

mod accumulate;
mod differences;
mod rules;
#[cfg(test)]
mod tests;

pub use differences::slope_differences;

use std::collections::BTreeMap;

use crate::graph::{Graph, Node, Source, ValueId};
use crate::op::{ElementOp, Op, ShapeError};

/// Appends the gradients of `loss`, a value of one element, with respect to each value in `of`. An entry is `None` if
/// the loss does not depend on that value.
///
/// # Errors
/// Returns a [`ShapeError`] only if a gradient rule has a bug: the forward shapes were checked before.
pub fn gradients(
    graph: &mut Graph,
    loss: ValueId,
    of: &[ValueId],
) -> Result<Vec<Option<ValueId>>, ShapeError> {
    let leads = values_that_depend_on(graph, of);
    let mut contributions: BTreeMap<ValueId, Vec<ValueId>> = BTreeMap::new();
    let shape = graph.shape(loss).to_vec();
    let one = graph.add_constant(&shape, vec![1.0]);
    contributions.insert(loss, vec![one]);
    for index in (0..graph.nodes.len()).rev() {
        let node = graph.nodes[index].clone();
        if !leads[node.output.0] {
            continue;
        }
        let Some(parts) = contributions.remove(&node.output) else { continue };
        let gradient = accumulate::sum(graph, &parts)?;
        for position in 0..node.inputs.len() {
            let input = node.inputs[position];
            if !leads[input.0] {
                continue;
            }
            if let Some(part) = rules::input_gradient(graph, &node, position, gradient)? {
                debug_assert_eq!(graph.shape(part), graph.shape(input), "{:?} input {position}", node.op);
                contributions.entry(input).or_default().push(part);
            }
        }
    }
    of.iter()
        .map(|id| match contributions.get(id) {
            Some(parts) => accumulate::sum(graph, parts).map(Some),
            None => Ok(None),
        })
        .collect()
}

/// Returns for each value whether it depends on one of the values in `of`. Only these values get gradients. Detached
/// values count as constants, because their gradients would be computed and never used.
fn values_that_depend_on(graph: &Graph, of: &[ValueId]) -> Vec<bool> {
    let mut leads = vec![false; graph.values.len()];
    of.iter().for_each(|id| leads[id.0] = true);
    for (index, value) in graph.values.iter().enumerate() {
        if let Source::Node(node) = value.source {
            let Node { op, inputs, .. } = &graph.nodes[node];
            let is_detached = *op == Op::Element(ElementOp::Detach);
            leads[index] |= !is_detached && inputs.iter().any(|input| leads[input.0]);
        }
    }
    leads
}
