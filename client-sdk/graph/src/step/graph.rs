//! The graph of a step, which every executor compiles: forward pass, loss, gradients, new running statistics.

use crate::graph::{Graph, ValueId};

/// The graph of a step for one batch size.
pub struct StepGraph {
    /// The graph. Its input 0 is the features `[batch, …]`.
    pub graph: Graph,
    /// The model's output, `[batch, …]`.
    pub output: ValueId,
    /// The labels, an input of the graph.
    pub labels: ValueId,
    /// The share of each example in the loss; an input, present if examples are weighted.
    pub shares: Option<ValueId>,
    /// The factor of the loss before differentiation (loss scaling); an input, present if requested.
    pub scale: Option<ValueId>,
    /// The mean loss, a scalar.
    pub loss: ValueId,
    /// The nodes that compute the loss from the output.
    pub loss_nodes: std::ops::Range<usize>,
    /// The trained parameters in order, each with its gradient.
    pub slopes: Vec<(usize, ValueId)>,
    /// The number of correct predictions, a scalar, if requested.
    pub right: Option<ValueId>,
    /// The running statistics that are updated, each with its new value.
    pub statistics: Vec<(usize, ValueId)>,
    /// True if examples of a batch influence each other, as in batch normalisation.
    pub mixes_examples: bool,
}
