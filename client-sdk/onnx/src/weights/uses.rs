//! Finds the nodes that read a tensor, and the role of the tensor in each.

use std::collections::BTreeMap;

use super::{Remark, Slot, slot::by_operator};
use crate::attributes::node_name;
use crate::operators::{find, is_of_onnx};
use crate::proto::{FLOAT, GraphProto, NodeProto, TensorProto};

/// The maximum number of nodes between a tensor's reader and the layer before it.
const STEPS_MAX: usize = 64;
/// The maximum number of inputs of a node that are looked at in a search. No layer has more. Together with
/// [`STEPS_MAX`], it bounds the time that a search takes.
const INPUTS_SEEN: usize = 8;

/// One place where a node reads a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    /// The position of the node in the graph.
    pub(crate) node: usize,
    /// The position among the node's inputs.
    pub(crate) position: usize,
    pub(crate) slot: Slot,
    /// The `Identity` node that gives the tensor the name by which the node reads it.
    pub(crate) via: Option<usize>,
}

/// The places where nodes of a graph read its initializers, directly or by the name that an `Identity` node gives them.
/// PyTorch's older exporter writes such a node for each tensor that it merged into an equal one.
pub(crate) struct Uses<'a> {
    nodes: &'a [NodeProto],
    /// The node that computes each value.
    producers: BTreeMap<&'a str, usize>,
    uses: BTreeMap<&'a str, Vec<Use>>,
    /// The nodes that read each value.
    readers: BTreeMap<&'a str, Vec<usize>>,
    /// The initializers by name.
    stored: BTreeMap<&'a str, &'a TensorProto>,
}

impl<'a> Uses<'a> {
    /// Finds all uses of initializers in a graph.
    pub(crate) fn new(graph: &'a GraphProto) -> Self {
        let nodes = &graph.node[..];
        let (mut producers, mut readers) = (BTreeMap::new(), BTreeMap::<&str, Vec<usize>>::new());
        for (index, node) in nodes.iter().enumerate() {
            producers.extend(node.output.iter().map(|output| (output.as_str(), index)));
            node.input.iter().for_each(|name| readers.entry(name).or_default().push(index));
        }
        let uses = graph.initializer.iter().map(|tensor| (tensor.name.as_str(), Vec::new())).collect();
        let stored = graph.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
        let mut found = Self { nodes, producers, uses, readers, stored };
        let mut aliases: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            for (position, name) in node.input.iter().enumerate() {
                let (origin, via) = match aliases.get(name.as_str()) {
                    Some((origin, index)) => (*origin, Some(*index)),
                    None => (name.as_str(), None),
                };
                if !found.uses.contains_key(origin) {
                    continue;
                }
                let alias = node.output.first().filter(|_| is_of_onnx(node) && node.op_type == "Identity");
                match alias.filter(|name| found.readers.contains_key(name.as_str())) {
                    Some(alias) => {
                        aliases.insert(alias, (origin, index));
                    }
                    None => {
                        let one = Use { node: index, position, slot: found.slot(node, position), via };
                        found.uses.entry(origin).or_default().push(one);
                    }
                }
            }
        }
        found
    }

    /// Returns the uses of an initializer, in the order of the nodes.
    pub(crate) fn of(&self, name: &str) -> &[Use] {
        self.uses.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns a node of the graph.
    pub(crate) fn node(&self, index: usize) -> &'a NodeProto {
        &self.nodes[index]
    }

    /// Returns the node that reads a value, if there is only one.
    pub(crate) fn only_reader(&self, value: &str) -> Option<&'a NodeProto> {
        match self.readers.get(value).map(Vec::as_slice) {
            Some([index]) => Some(self.node(*index)),
            _ => None,
        }
    }

    /// Returns whether a value is an initializer, perhaps in another shape or type.
    pub(crate) fn is_stored(&self, value: &'a str) -> bool {
        self.uses.contains_key(self.origin(value))
    }

    /// Returns the initializer that a value is, perhaps in another shape or type.
    pub(crate) fn stored(&self, value: &'a str) -> Option<&'a TensorProto> {
        self.stored.get(self.origin(value)).copied()
    }

    /// Finds the last layer before this use: the layer whose result reaches the use, possibly through other operators.
    /// Returns the initializer that is the layer's weight, and the position of the layer's node. If the use is the bias
    /// of a layer, the result is that layer. At a node with several inputs, the search follows the input that is
    /// computed last, because the others come from earlier blocks.
    pub(crate) fn layer_before(&self, one: Use) -> Option<(&'a str, usize)> {
        let mut index = one.node;
        for _ in 0..STEPS_MAX {
            let node = self.node(index);
            if let Some(weight) = self.weight(node) {
                return Some((weight, index));
            }
            let computed = |name: &&String| {
                let is_earlier = self.producers.get(name.as_str()).is_some_and(|at| *at < index);
                is_earlier && !self.uses.contains_key(self.origin(name))
            };
            let before = node.input.iter().take(INPUTS_SEEN).filter(computed);
            index = before.map(|name| self.producers[name.as_str()]).max()?;
        }
        None
    }

    /// Returns the initializer that is a node's weight, directly or transposed.
    fn weight(&self, node: &'a NodeProto) -> Option<&'a str> {
        let seen = 0..node.input.len().min(INPUTS_SEEN);
        let positions = seen.filter(|position| by_operator(node, *position) == Slot::Weight);
        positions.map(|position| self.origin(&node.input[position])).find(|name| self.uses.contains_key(name))
    }

    /// Follows a value back through operators that only change its shape or type.
    pub(crate) fn origin(&self, value: &'a str) -> &'a str {
        let mut name = value;
        for _ in 0..STEPS_MAX {
            match self.producers.get(name).map(|index| self.node(*index)) {
                Some(node) if is_reshaping(node) && !node.input.is_empty() => name = &node.input[0],
                _ => break,
            }
        }
        name
    }

    /// Returns whether all uses of an initializer are settings of operators.
    pub(crate) fn is_only_setting(&self, name: &str) -> bool {
        let is_setting = |one: &Use| find(self.node(one.node)).is_some_and(|op| op.is_setting(one.position));
        self.of(name).iter().all(is_setting)
    }

    /// Returns a remark about a weight that several nodes read.
    pub(crate) fn shared(&self, name: &str) -> Option<Remark> {
        let mut nodes: Vec<usize> = self.of(name).iter().map(|one| one.node).collect();
        nodes.dedup();
        if nodes.len() < 2 {
            return None;
        }
        let nodes = nodes.into_iter().map(|index| node_name(self.node(index))).collect();
        Some(Remark::Shared { tensor: name.to_owned(), nodes })
    }

    /// Returns the name of a layer whose weight is computed from an initializer by a change of type or shape, or by
    /// scaling, as quantized weights are.
    pub(crate) fn weight_from(&self, initializer: &str) -> Option<String> {
        let mut found = vec![initializer];
        for _ in 0..STEPS_MAX {
            let name = found.pop()?;
            let readers = self.readers.get(name).into_iter().flatten().take(STEPS_MAX);
            for node in readers.map(|index| self.node(*index)) {
                let mut seen = node.input.iter().take(INPUTS_SEEN);
                let Some(position) = seen.position(|input| input == name) else { continue };
                if by_operator(node, position) == Slot::Weight {
                    return Some(node_name(node));
                }
                if is_reshaping(node) && position == 0 || is_scaling(node, position) {
                    found.extend(node.output.first().map(String::as_str));
                }
            }
        }
        None
    }

    /// Returns remarks about the weights of layers that are `Constant` nodes.
    pub(crate) fn constant_weights(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for node in self.nodes {
            let positions = (0..node.input.len().min(INPUTS_SEEN)).filter(|at| {
                matches!(by_operator(node, *at), Slot::Weight | Slot::Bias) && node.op_type != "Einsum"
            });
            let origins = positions.map(|at| self.origin(&node.input[at]));
            let constants = origins.filter(|name| {
                let producer = self.producers.get(name).map(|index| self.node(*index));
                producer.is_some_and(|producer| producer.op_type == "Constant" && holds_floats(producer))
            });
            remarks.extend(
                constants.map(|tensor| Remark::ConstantWeight {
                    tensor: tensor.to_owned(),
                    node: node_name(node),
                }),
            );
        }
        remarks
    }

    fn slot(&self, node: &'a NodeProto, position: usize) -> Slot {
        let slot = by_operator(node, position);
        if slot != Slot::Operand || node.op_type != "Add" || node.input.len() != 2 {
            return slot;
        }
        // A bias may be added by a node of its own.
        let other = node.input[1 - position].as_str();
        let layer = |name| self.producers.get(name).filter(|at| self.weight(self.node(**at)).is_some());
        match (layer(other), layer(self.origin(other))) {
            (Some(_), _) => Slot::Bias,
            (None, Some(_)) => Slot::Vector,
            (None, None) => slot,
        }
    }
}

/// Returns whether a node only changes the shape or the type of its first input.
fn is_reshaping(node: &NodeProto) -> bool {
    const RESHAPING: [&str; 7] =
        ["Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"];
    is_of_onnx(node) && RESHAPING.contains(&node.op_type.as_str())
}

/// Returns whether a node scales or shifts the input at this position, as the dequantization of a weight does.
fn is_scaling(node: &NodeProto, position: usize) -> bool {
    match node.op_type.as_str() {
        "Mul" | "Sub" | "Div" => is_of_onnx(node),
        "DequantizeLinear" => is_of_onnx(node) && position == 0,
        _ => false,
    }
}

/// Returns whether a `Constant` node has a tensor of several floats.
fn holds_floats(node: &NodeProto) -> bool {
    let is_matrix =
        |tensor: &TensorProto| tensor.data_type == FLOAT && tensor.dims.iter().any(|size| *size > 1);
    node.attribute.iter().any(|attribute| attribute.t.as_ref().is_some_and(is_matrix))
}
