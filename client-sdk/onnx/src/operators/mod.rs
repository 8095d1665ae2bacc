//! Lowers ONNX nodes to graph operators, with one function for each ONNX operator.

mod activation;
mod advice;
mod arithmetic;
#[cfg(feature = "complete")]
mod attention;
mod cast;
mod constant;
mod dropout;
#[cfg(feature = "complete")]
mod einsum;
mod gather;
mod matrix;
#[cfg(feature = "complete")]
mod ml;
mod normalization;
mod pad;
#[cfg(feature = "complete")]
mod quantization;
mod recurrent;
mod reduction;
mod repeat;
mod reshape;
#[cfg(feature = "complete")]
mod resize;
mod rounding;
#[cfg(feature = "complete")]
mod scan;
mod slice;
mod table;
mod windows;

use std::collections::BTreeSet;

use super::attributes::{node_name, operator_name};
use super::error::UnsupportedOperator;
use super::node::{NodeLowering, Outputs};
use super::proto::{GraphProto, NodeProto};

/// The ONNX operators that can be imported.
pub const SUPPORTED_OPERATORS: &[&str] = &table::NAMES;
/// The operators of the domain `ai.onnx.ml` that can be imported, with the domain.
#[cfg(feature = "complete")]
pub const SUPPORTED_ML_OPERATORS: &[&str] = &[
    "ai.onnx.ml.ArrayFeatureExtractor",
    "ai.onnx.ml.Binarizer",
    "ai.onnx.ml.Imputer",
    "ai.onnx.ml.LabelEncoder",
    "ai.onnx.ml.LinearClassifier",
    "ai.onnx.ml.LinearRegressor",
    "ai.onnx.ml.Normalizer",
    "ai.onnx.ml.OneHotEncoder",
    "ai.onnx.ml.Scaler",
    "ai.onnx.ml.ZipMap",
];

/// An ONNX operator, and how it is lowered.
pub(super) struct Operator {
    name: &'static str,
    pub(super) lower: fn(&mut NodeLowering<'_>) -> Outputs,
    settings: &'static [usize],
    reads_empty: bool,
}

impl Operator {
    /// Returns whether the input at this position is a setting, such as a shape, and not a tensor to compute with.
    /// Settings must be constant, so a float initializer that is only a setting is not a weight.
    pub(super) fn is_setting(&self, position: usize) -> bool {
        self.settings.contains(&position)
    }

    /// Returns whether the input at this position may be empty.
    pub(super) fn reads_empty(&self, position: usize) -> bool {
        self.reads_empty || self.is_setting(position)
    }
}

/// Returns whether the operator of a node is ONNX's own.
pub(super) fn is_of_onnx(node: &NodeProto) -> bool {
    matches!(node.domain.as_str(), "" | "ai.onnx")
}

/// Returns the operator of a node, if it is supported.
pub(super) fn find(node: &NodeProto) -> Option<&'static Operator> {
    #[cfg(feature = "complete")]
    if node.domain == "ai.onnx.ml" {
        return ml::OPERATORS.iter().find(|operator| operator.name == node.op_type);
    }
    if !is_of_onnx(node) {
        return None;
    }
    let position = SUPPORTED_OPERATORS.binary_search(&node.op_type.as_str()).ok()?;
    Some(&table::OPERATORS[position])
}

/// Lists the operators of the nodes that are not supported, each once, in the order of their first nodes.
pub(super) fn unsupported<'a>(nodes: impl IntoIterator<Item = &'a NodeProto>) -> Vec<UnsupportedOperator> {
    let mut unsupported: Vec<UnsupportedOperator> = Vec::new();
    for node in nodes.into_iter().filter(|node| find(node).is_none()) {
        let operator = operator_name(node);
        match unsupported.iter_mut().find(|one| one.operator == operator) {
            Some(one) => one.nodes += 1,
            None => unsupported.push(UnsupportedOperator {
                node: node_name(node),
                nodes: 1,
                advice: advice::advice(node),
                operator,
            }),
        }
    }
    unsupported
}

/// Returns the names of the values that nodes read as settings.
pub(super) fn names_of_settings(nodes: &[NodeProto]) -> BTreeSet<&str> {
    names(nodes, |operator, position| operator.is_some_and(|operator| operator.is_setting(position)))
}

/// Returns the names of all values that nodes read.
pub(super) fn names_read(nodes: &[NodeProto]) -> BTreeSet<&str> {
    names(nodes, |_, _| true)
}

/// Returns the wanted names that nodes read, including those in branches.
fn names(nodes: &[NodeProto], is_wanted: fn(Option<&Operator>, usize) -> bool) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for node in with_branches(nodes) {
        let operator = find(node);
        let inputs = node.input.iter().enumerate();
        found.extend(
            inputs.filter(|(position, _)| is_wanted(operator, *position)).map(|(_, name)| name.as_str()),
        );
        found.extend(branch_outputs(node).filter(|_| is_wanted(None, 0)));
    }
    found
}

/// Returns the nodes, and the nodes in their branches. The nodes of a branch precede the node with the branch, so that
/// each value precedes its readers.
pub(super) fn with_branches(nodes: &[NodeProto]) -> Vec<&NodeProto> {
    let mut found = Vec::new();
    let mut rest: Vec<&NodeProto> = nodes.iter().collect();
    while let Some(node) = rest.pop() {
        found.push(node);
        rest.extend(branches(node).flat_map(|graph| &graph.node));
    }
    found.reverse();
    found
}

/// Returns the names of the values that the branches of a node return, which may be values of the graph around them.
pub(super) fn branch_outputs(node: &NodeProto) -> impl Iterator<Item = &str> {
    branches(node).flat_map(|graph| &graph.output).map(|output| output.name.as_str())
}

/// Returns the names of the values that a node gives to the bodies of its loops.
pub(super) fn body_inputs(node: &NodeProto) -> impl Iterator<Item = &str> {
    branches(node).flat_map(|graph| &graph.input).map(|input| input.name.as_str())
}

fn branches(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().filter_map(|attribute| attribute.g.as_deref())
}
