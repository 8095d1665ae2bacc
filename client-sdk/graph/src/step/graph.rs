//! The graph of a step, which every executor compiles: forward pass, loss, gradients, new running statistics.

use crate::graph::{Graph, ValueId};

/// The graph of a step for one batch size.
pub struct StepGraph {
    /// Its input 0 is the features `[batch, …]`.
    pub graph: Graph,
    /// The model's output, `[batch, …]`.
    pub output: ValueId,
    /// The labels, an input.
    pub labels: ValueId,
    /// The share of each example in the loss, an input if examples have weights.
    pub shares: Option<ValueId>,
    /// What the loss is multiplied by before its gradient is taken, an input if that was asked for.
    pub scale: Option<ValueId>,
    /// The mean loss, a scalar.
    pub loss: ValueId,
    /// The nodes that compute the loss from the output.
    pub loss_nodes: std::ops::Range<usize>,
    /// The parameters of which there are gradients, in their order, with these.
    pub slopes: Vec<(usize, ValueId)>,
    /// The number of right answers, a scalar, if it was asked for.
    pub right: Option<ValueId>,
    /// The running statistics that get new values, with these.
    pub statistics: Vec<(usize, ValueId)>,
    /// Whether examples of a batch influence each other, through batch normalisation.
    pub mixes_examples: bool,
}
