//! Selects the values that mixed precision stores in 16 bits.

use std::collections::BTreeSet;
use std::ops::Range;

use folkmoot_graph::op::{Op, volume};
use folkmoot_graph::{Graph, Source, ValueId};

use super::tensor::Tensor;

/// The minimum number of elements of a tensor stored in 16 bits. Smaller tensors, such as means and variances, would
/// save little memory and stay exact.
const ELEMENTS_MIN: usize = 4096;

/// Returns the values that are activations or their gradients: those that depend on weights.
///
/// Sums, positions, small tensors and the nodes of the loss keep 32 bits. So do values that do not depend on weights,
/// such as labels and class numbers, which must be exact.
pub(super) fn half_values(graph: &Graph, loss_nodes: &Range<usize>, outputs: &[ValueId]) -> BTreeSet<Tensor> {
    let mut depends: Vec<bool> =
        graph.values.iter().map(|value| matches!(value.source, Source::Parameter(_))).collect();
    let mut halves = BTreeSet::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let is_position = matches!(node.op, Op::ArgMaximum { .. });
        let is_sum = matches!(node.op, Op::Reduce { .. } | Op::SumTo);
        let is_activation = !is_position && node.inputs.iter().any(|input| depends[input.0]);
        depends[node.output.0] = is_activation;
        let is_large = volume(graph.shape(node.output)) >= ELEMENTS_MIN;
        if is_activation
            && is_large
            && !is_sum
            && !loss_nodes.contains(&index)
            && !outputs.contains(&node.output)
        {
            halves.insert(node.output.into());
        }
    }
    halves
}
