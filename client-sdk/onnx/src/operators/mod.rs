//! From ONNX nodes to operations of the graph, a function for each operator.

mod activation;
mod arithmetic;
mod cast;
mod constant;
mod convolution;
mod dropout;
mod einsum;
mod gather;
mod geometry;
mod matrix;
mod normalization;
mod pad;
mod pooling;
mod recurrent;
mod reduction;
mod repeat;
mod reshape;
mod slice;
mod table;

use std::collections::BTreeSet;

use super::node::{NodeLowering, Outputs};
use super::proto::NodeProto;

/// The ONNX operators that can be imported.
pub const SUPPORTED_OPERATORS: &[&str] = &table::NAMES;

/// How an ONNX operator is lowered.
pub(super) struct Operator {
    name: &'static str,
    pub(super) lower: fn(&mut NodeLowering<'_>) -> Outputs,
    settings: &'static [usize],
    reads_empty: bool,
}

impl Operator {
    /// Whether the input at this position is a setting of the operator, such as a shape, rather than a tensor that
    /// it computes with. Settings must be known at import, so a float initializer that is one is no weight.
    fn is_setting(&self, position: usize) -> bool {
        self.settings.contains(&position)
    }

    /// Whether the input at this position may have no elements.
    pub(super) fn reads_empty(&self, position: usize) -> bool {
        self.reads_empty || self.is_setting(position)
    }
}

/// The operator of a node, if it is supported.
pub(super) fn find(node: &NodeProto) -> Option<&'static Operator> {
    if !matches!(node.domain.as_str(), "" | "ai.onnx") {
        return None;
    }
    let position = SUPPORTED_OPERATORS.binary_search(&node.op_type.as_str()).ok()?;
    Some(&table::OPERATORS[position])
}

/// The names that nodes compute with.
pub(super) fn names_of_values(nodes: &[NodeProto]) -> BTreeSet<&str> {
    names(nodes, false)
}

/// The names that nodes read as settings.
pub(super) fn names_of_settings(nodes: &[NodeProto]) -> BTreeSet<&str> {
    names(nodes, true)
}

fn names(nodes: &[NodeProto], of_settings: bool) -> BTreeSet<&str> {
    let is_wanted = |node: &NodeProto, position: usize| {
        find(node).is_some_and(|operator| operator.is_setting(position)) == of_settings
    };
    let read = nodes.iter().flat_map(|node| {
        let inputs = node.input.iter().enumerate();
        inputs.filter(move |(position, _)| is_wanted(node, *position)).map(|(_, name)| name.as_str())
    });
    read.collect()
}
