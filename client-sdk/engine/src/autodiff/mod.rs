//! Reverse-mode differentiation of a graph, done once, by appending the nodes that compute the gradients.
//!
//! The result is an ordinary [`Graph`], so that any executor can run it and a memory plan can see it whole.
//! Each operator's rule is a function in `rules/`; [`rules::input_gradients`] is the table.

mod rules;

use crate::graph::{Graph, Node, Op, ShapeError, Source, ValueId};

/// A forward graph with its loss and the gradients of the loss.
#[derive(Debug, Clone)]
pub(crate) struct GradientGraph {
    /// The forward nodes, the loss, then the gradient nodes.
    pub(crate) graph: Graph,
    /// The mean loss over the batch: a scalar. Training does not run it; the gradients are checked with it.
    #[cfg_attr(not(test), allow(dead_code, reason = "the finite-difference tests are its readers"))]
    pub(crate) loss: ValueId,
    /// For each parameter the gradient of the mean loss, of the parameter's shape, or `None` if the loss
    /// does not depend on the parameter.
    pub(crate) gradients: Vec<Option<ValueId>>,
}

/// Appends `loss_op(output, labels)` and the gradients of that loss with respect to every parameter.
///
/// `loss_gradient_op` computes from the same inputs the gradient of the loss with respect to `output`; a
/// fused form is more exact than the composition (softmax minus one-hot).
///
/// # Errors
/// Returns a [`ShapeError`] if output and labels do not fit the loss.
pub(crate) fn differentiate(
    mut graph: Graph,
    output: ValueId,
    labels: ValueId,
    loss_op: Op,
    loss_gradient_op: Op,
) -> Result<GradientGraph, ShapeError> {
    let forward_nodes = graph.nodes.clone();
    let loss = graph.add_node(loss_op, vec![output, labels])?;
    let output_gradient = graph.add_node(loss_gradient_op, vec![output, labels])?;

    let needed = values_that_lead_to_parameters(&graph);
    let mut gradients: Vec<Option<ValueId>> = vec![None; graph.values.len()];
    gradients[output.0] = Some(output_gradient);
    for node in forward_nodes.iter().rev() {
        let Some(gradient) = gradients[node.output.0] else { continue };
        propagate(&mut graph, node, gradient, &needed, &mut gradients)?;
    }

    let gradients = graph.parameters.iter().map(|parameter| gradients[parameter.0]).collect();
    Ok(GradientGraph { graph, loss, gradients })
}

/// Adds what `node` passes back to the gradients of its inputs.
fn propagate(
    graph: &mut Graph,
    node: &Node,
    gradient: ValueId,
    needed: &[bool],
    gradients: &mut [Option<ValueId>],
) -> Result<(), ShapeError> {
    for position in 0..node.inputs.len() {
        let input = node.inputs[position];
        if !needed[input.0] {
            continue;
        }
        let contribution = rules::input_gradient(graph, node, position, gradient)?;
        gradients[input.0] = Some(match gradients[input.0] {
            Some(sum) => graph.add_node(Op::Add, vec![sum, contribution])?,
            None => contribution,
        });
    }
    Ok(())
}

/// For each value: does a parameter influence it? No gradient is computed for one that none does.
fn values_that_lead_to_parameters(graph: &Graph) -> Vec<bool> {
    let mut leads: Vec<bool> =
        graph.values.iter().map(|value| matches!(value.source, Source::Parameter(_))).collect();
    for node in &graph.nodes {
        leads[node.output.0] = node.inputs.iter().any(|input| leads[input.0]);
    }
    leads
}

#[cfg(test)]
mod tests;
