//! The values that must be known at import: settings, and indices that do not depend on the features.

use std::collections::BTreeSet;

use crate::operators;
use crate::proto::{GraphProto, NodeProto};

/// Returns the names of all values from which settings are computed, or indices that do not depend on the features. The
/// dimensions of a value are known without the value, so the search ends at `Shape` and `Size`.
pub(crate) fn known_values(graph: &GraphProto) -> BTreeSet<&str> {
    let nodes = operators::with_branches(&graph.node);
    let varying = varying(graph, &nodes);
    let mut known = operators::names_of_settings(&graph.node);
    known.extend(nodes.iter().filter_map(|node| condition(node)));
    known.extend(nodes.iter().filter_map(|node| index(node)).filter(|name| !varying.contains(name)));
    for node in nodes.iter().rev().filter(|node| reads_elements(node)) {
        if node.output.iter().any(|name| !name.is_empty() && known.contains(name.as_str())) {
            known.extend(read(node));
        }
    }
    known.remove("");
    known
}

/// Returns the names of the values that depend on the elements of the graph's inputs.
fn varying<'a>(graph: &'a GraphProto, nodes: &[&'a NodeProto]) -> BTreeSet<&'a str> {
    let stored: BTreeSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let inputs = graph.input.iter().map(|input| input.name.as_str());
    let mut varying: BTreeSet<&str> = inputs.filter(|name| !stored.contains(name)).collect();
    varying.extend(nodes.iter().flat_map(|node| operators::body_inputs(node)));
    for node in nodes.iter().filter(|node| reads_elements(node)) {
        if read(node).any(|name| varying.contains(name)) {
            varying.extend(node.output.iter().map(String::as_str));
        }
    }
    varying
}

/// Returns whether a node reads the elements of its inputs, and not only their dimensions.
fn reads_elements(node: &NodeProto) -> bool {
    !matches!(node.op_type.as_str(), "Shape" | "Size")
}

/// Returns the names of the values whose elements a node or the results of its branches read. `CastLike` reads only the
/// type of its second input.
fn read(node: &NodeProto) -> impl Iterator<Item = &str> {
    let count = if node.op_type == "CastLike" { 1 } else { node.input.len() };
    node.input.iter().take(count).map(String::as_str).chain(operators::branch_outputs(node))
}

/// Returns the value by which the body of a loop decides whether it repeats.
fn condition(node: &NodeProto) -> Option<&str> {
    operators::branch_outputs(node).next().filter(|_| node.op_type == "Loop")
}

/// Returns the value by which a node chooses elements.
fn index(node: &NodeProto) -> Option<&str> {
    match node.op_type.as_str() {
        "Gather" | "GatherElements" | "GatherND" => node.input.get(1).map(String::as_str),
        _ => None,
    }
}
