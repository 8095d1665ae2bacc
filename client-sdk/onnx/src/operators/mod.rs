//! Lowers ONNX nodes to graph operators, with one function for each ONNX operator.

mod activation;
mod advice;
mod arithmetic;
mod cast;
mod constant;
mod dropout;
mod einsum;
mod gather;
mod matrix;
mod normalization;
mod pad;
mod recurrent;
mod reduction;
mod repeat;
mod reshape;
mod slice;
mod table;
mod windows;

use std::collections::BTreeSet;

use super::attributes::{node_name, operator_name};
use super::error::UnsupportedOperator;
use super::node::{NodeLowering, Outputs};
use super::proto::NodeProto;

/// The ONNX operators that can be imported.
pub const SUPPORTED_OPERATORS: &[&str] = &table::NAMES;

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
    if !is_of_onnx(node) {
        return None;
    }
    let position = SUPPORTED_OPERATORS.binary_search(&node.op_type.as_str()).ok()?;
    Some(&table::OPERATORS[position])
}

/// Lists the operators of the nodes that are not supported, each once, in the order of their first nodes.
pub(super) fn unsupported(nodes: &[NodeProto]) -> Vec<UnsupportedOperator> {
    let mut unsupported: Vec<UnsupportedOperator> = Vec::new();
    for node in nodes.iter().filter(|node| find(node).is_none()) {
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
    let is_wanted =
        |node: &NodeProto, position: usize| find(node).is_some_and(|operator| operator.is_setting(position));
    let read = nodes.iter().flat_map(|node| {
        let inputs = node.input.iter().enumerate();
        inputs.filter(move |(position, _)| is_wanted(node, *position)).map(|(_, name)| name.as_str())
    });
    read.collect()
}
