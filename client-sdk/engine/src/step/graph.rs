//! Builds the graph of a step: forward pass, loss, gradients, new running statistics.

use folkmoot_graph::autodiff::gradients;
use folkmoot_graph::op::{ElementOp, volume};
use folkmoot_graph::step::StepGraph;
use folkmoot_graph::{Graph, Source, ValueId};
use folkmoot_loss::loss;

use super::{Parameters, Role, StepError, StepSource};
use crate::fit::FitError;

/// The options in which step graphs from one source differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepForm {
    /// The number of examples in a batch.
    pub(crate) batch_size: usize,
    /// True if examples are weighted.
    pub(crate) has_shares: bool,
    /// True if the loss is scaled before differentiation.
    pub(crate) has_scale: bool,
    /// True if the graph counts correct predictions.
    pub(crate) has_right: bool,
}

/// Builds the graph of a step for one batch size.
///
/// # Errors
/// Returns a [`StepError`] if the model does not allow this batch size, or the loss depends on no trained weight.
pub(crate) fn step_graph(source: &StepSource, form: StepForm) -> Result<StepGraph, StepError> {
    let StepSource { model, parameters, layout, .. } = source;
    let (frozen, contrast) = (parameters.frozen(), source.contrast.as_deref());
    let lowered = match contrast {
        Some(contrast) => model.lower_with_inner(form.batch_size, &frozen, &contrast.features),
        None => model.lower_frozen(form.batch_size, &frozen),
    }?;
    let (mut graph, output) = (lowered.graph, lowered.output);
    let labels = graph.add_input(&layout.label_shape(form.batch_size));
    let shares = form.has_shares.then(|| graph.add_input(&[form.batch_size]));
    let forward = graph.nodes.len();
    let loss = loss::build(&mut graph, &source.objective, layout, output, labels, shares)?;
    let whole = match contrast.zip(lowered.inner) {
        Some((contrast, features)) => {
            let (batch, all) = (form.batch_size, volume(graph.shape(features)));
            let shape = [batch, all / batch.max(1)];
            let references = [graph.add_input(&shape), graph.add_input(&shape)];
            let term = loss::contrast(&mut graph, contrast, features, references, shares)?;
            graph.element(ElementOp::Add, &[loss, term])?
        }
        None => loss,
    };
    let scale = form.has_scale.then(|| graph.add_input(&[]));
    let root = match scale {
        Some(scale) => graph.element(ElementOp::Multiply, &[whole, scale])?,
        None => whole,
    };
    let loss_nodes = forward..graph.nodes.len();
    let slopes = slopes_of_trained(&mut graph, root, parameters)?;
    if slopes.is_empty() {
        return Err(FitError::NothingToTrain.into());
    }
    let right = match form.has_right {
        true => Some(loss::right_answers(&mut graph, source.objective.loss, layout, output, labels)?),
        false => None,
    };
    let is_kept = |index: usize| parameters.roles[index] == Role::Statistic;
    let updates = lowered.updates.iter().filter(|(index, _)| is_kept(*index));
    Ok(StepGraph {
        graph,
        output,
        labels,
        shares,
        scale,
        loss,
        loss_nodes,
        slopes,
        right,
        statistics: updates.copied().collect(),
        mixes_examples: !lowered.updates.is_empty(),
    })
}

/// Appends the gradients of the trained parameters that have one.
fn slopes_of_trained(
    graph: &mut Graph,
    loss: ValueId,
    parameters: &Parameters,
) -> Result<Vec<(usize, ValueId)>, StepError> {
    let is_trained = |index: usize| parameters.roles[index] == Role::Trained;
    let values = graph.values.iter().enumerate().filter_map(|(id, value)| match value.source {
        Source::Parameter(index) if is_trained(index) => Some((index, ValueId(id))),
        _ => None,
    });
    let (indices, ids): (Vec<usize>, Vec<ValueId>) = values.unzip();
    let slopes = gradients(graph, loss, &ids)?;
    let found = indices.into_iter().zip(slopes).filter_map(|(index, slope)| Some((index, slope?)));
    let mut found: Vec<(usize, ValueId)> = found.collect();
    found.sort_unstable();
    Ok(found)
}
