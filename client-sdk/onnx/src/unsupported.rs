//! Leaves out the outputs that depend on unsupported operators, if others do not. A classifier of scikit-learn, for
//! example, has the names of the classes as one output, and their scores as another.

use std::collections::BTreeSet;

use super::operators::{self, branch_outputs, with_branches};
use super::outputs::{ModelOutput, Obstacle};
use super::proto::{GraphProto, NodeProto, ValueInfoProto};
use super::tensor::ElementType;

/// The maximum number of outputs that are left out and listed. It bounds the time that the lists take.
const LISTED_MAX: usize = 64;

/// Removes the outputs that depend on unsupported operators, and the nodes that no other output needs. Returns the removed
/// outputs. If no output would be left, changes nothing.
pub(super) fn remove(graph: &mut GraphProto) -> Vec<ModelOutput> {
    if graph.node.iter().all(|node| operators::find(node).is_some()) {
        return Vec::new();
    }
    let blocked = blocked(&graph.node);
    let is_blocked: Vec<bool> =
        graph.output.iter().map(|output| blocked.contains(output.name.as_str())).collect();
    if is_blocked.iter().all(|is_blocked| *is_blocked) {
        return Vec::new();
    }
    let pairs = || graph.output.iter().zip(&is_blocked);
    let refused = pairs().filter(|(_, is_blocked)| **is_blocked).take(LISTED_MAX);
    let refused: Vec<ModelOutput> = refused.map(|(output, _)| refused_output(graph, output)).collect();
    let kept: Vec<ValueInfoProto> =
        pairs().filter(|(_, is_blocked)| !**is_blocked).map(|(output, _)| output.clone()).collect();
    let needed = needed(&graph.node, kept.iter().map(|output| output.name.as_str()));
    let mut needed = needed.into_iter();
    graph.node.retain(|_| needed.next().unwrap_or(true));
    graph.output = kept;
    refused
}

/// Returns the names of the values that depend on unsupported operators.
fn blocked(nodes: &[NodeProto]) -> BTreeSet<&str> {
    let mut blocked = BTreeSet::new();
    for node in nodes {
        if operators::find(node).is_none() || read(node).iter().any(|name| blocked.contains(name)) {
            blocked.extend(node.output.iter().map(String::as_str));
        }
    }
    blocked.remove("");
    blocked
}

/// Returns for each node whether one of these values depends on it.
fn needed<'a>(nodes: &'a [NodeProto], values: impl Iterator<Item = &'a str>) -> Vec<bool> {
    let mut wanted: BTreeSet<&str> = values.filter(|name| !name.is_empty()).collect();
    let mut needed = vec![false; nodes.len()];
    for (node, needed) in nodes.iter().zip(&mut needed).rev() {
        *needed = node.output.iter().any(|name| wanted.contains(name.as_str()));
        if *needed {
            wanted.extend(read(node).into_iter().filter(|name| !name.is_empty()));
        }
    }
    needed
}

/// Returns the names of the values that a node reads, also in its branches.
fn read(node: &NodeProto) -> Vec<&str> {
    let inner = with_branches(std::slice::from_ref(node));
    let inputs = inner.iter().flat_map(|node| node.input.iter().map(String::as_str));
    inputs.chain(inner.iter().flat_map(|node| branch_outputs(node))).collect()
}

fn refused_output(graph: &GraphProto, output: &ValueInfoProto) -> ModelOutput {
    let needed = needed(&graph.node, std::iter::once(output.name.as_str()));
    let nodes = graph.node.iter().zip(needed).filter(|(_, needed)| *needed);
    let unsupported = operators::unsupported(nodes.map(|(node, _)| node));
    let listed: Vec<String> = unsupported.iter().map(ToString::to_string).collect();
    let obstacle = match holds_floats(output) {
        true => Obstacle::Operators(listed.join("; ")),
        false => Obstacle::Integers,
    };
    ModelOutput { name: output.name.clone(), shape: Vec::new(), obstacle: Some(obstacle) }
}

/// Returns whether an output is a tensor of floats, or may be one.
fn holds_floats(output: &ValueInfoProto) -> bool {
    let of_tensor = |tensor: &super::proto::TensorTypeProto| {
        tensor.elem_type == 0 || ElementType::of(tensor.elem_type) == Some(ElementType::Float)
    };
    output.r#type.as_ref().is_none_or(|value| value.tensor_type.as_ref().is_some_and(of_tensor))
}
