//! The values that must be known at import: settings, and indices that do not depend on the features.

use std::collections::BTreeSet;

use crate::operators;
use crate::proto::{GraphProto, NodeProto};

/// Returns the names of all values from which a setting is computed, or an index that does not depend on the features.
/// The dimensions of a value are known without the value, so the search ends at `Shape` and `Size`.
pub(crate) fn known_values(graph: &GraphProto) -> BTreeSet<&str> {
    let varying = varying(graph);
    let mut known = operators::names_of_settings(&graph.node);
    known.extend(graph.node.iter().filter_map(index).filter(|name| !varying.contains(name)));
    for node in graph.node.iter().rev() {
        let is_wanted = node.output.iter().any(|name| !name.is_empty() && known.contains(name.as_str()));
        if is_wanted && !matches!(node.op_type.as_str(), "Shape" | "Size") {
            known.extend(node.input.iter().map(String::as_str));
        }
    }
    known.remove("");
    known
}

/// Returns the names of the values that depend on the elements of the graph's inputs.
fn varying(graph: &GraphProto) -> BTreeSet<&str> {
    let stored: BTreeSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let inputs = graph.input.iter().map(|input| input.name.as_str());
    let mut varying: BTreeSet<&str> = inputs.filter(|name| !stored.contains(name)).collect();
    for node in &graph.node {
        let depends = node.input.iter().any(|name| varying.contains(name.as_str()));
        if depends && !matches!(node.op_type.as_str(), "Shape" | "Size") {
            varying.extend(node.output.iter().map(String::as_str));
        }
    }
    varying
}

/// Returns the value by which a node chooses elements.
fn index(node: &NodeProto) -> Option<&str> {
    match node.op_type.as_str() {
        "Gather" | "GatherElements" | "GatherND" => node.input.get(1).map(String::as_str),
        _ => None,
    }
}
