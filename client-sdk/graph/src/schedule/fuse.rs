//! Finds chains: elementwise nodes that can run fused, because only the same chain reads their results.

use std::collections::BTreeSet;

use crate::graph::{Graph, Node, Source, ValueId};
use crate::op::{Instruction, Op, Operand};

/// The maximum number of instructions in a chain.
const INSTRUCTIONS_MAX: usize = 48;

/// Nodes that run as one: a single node, or a chain of elementwise nodes that ends with `sink`.
#[derive(Debug)]
pub struct Group {
    /// The index of the last node, whose output is the group's output.
    pub sink: usize,
    /// The indexes of all nodes in execution order, including the sink.
    pub nodes: Vec<usize>,
}

/// The instructions of a chain, the values it reads, and its constants.
pub struct ChainCode {
    pub inputs: Vec<ValueId>,
    pub scalars: Vec<f64>,
    pub instructions: Vec<Instruction>,
}

/// Groups the needed nodes so that no chain reads more than `inputs_max` tensors. Returns the groups in execution
/// order.
pub fn group(graph: &Graph, needed: &[bool], outputs: &[ValueId], inputs_max: usize) -> Vec<Group> {
    let readers = readers(graph, needed);
    // The sink of each node's group.
    let mut sinks: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    let mut groups: Vec<Option<Group>> = (0..graph.nodes.len()).map(|_| None).collect();
    for index in (0..graph.nodes.len()).rev().filter(|index| needed[*index]) {
        let node = &graph.nodes[index];
        let joined = (!outputs.contains(&node.output))
            .then(|| common_sink(graph, node, &readers[node.output.0], &sinks))
            .flatten()
            .filter(|sink| {
                groups[*sink].as_ref().is_some_and(|group| has_room(graph, group, index, inputs_max))
            });
        let sink = joined.unwrap_or(index);
        sinks[index] = Some(sink);
        let group = groups[sink].get_or_insert_with(|| Group { sink, nodes: Vec::new() });
        group.nodes.insert(0, index);
    }
    groups.into_iter().flatten().collect()
}

/// Returns the nodes that read each value.
pub fn readers(graph: &Graph, needed: &[bool]) -> Vec<Vec<usize>> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); graph.values.len()];
    for (index, node) in graph.nodes.iter().enumerate().filter(|(index, _)| needed[*index]) {
        node.inputs.iter().for_each(|input| readers[input.0].push(index));
    }
    readers
}

/// Returns the sink of the only group that reads the node's result, if all readers are elementwise and have the node's
/// shape.
fn common_sink(graph: &Graph, node: &Node, readers: &[usize], sinks: &[Option<usize>]) -> Option<usize> {
    if !matches!(node.op, Op::Element(_) | Op::Broadcast) {
        return None;
    }
    let sink = sinks[*readers.first()?]?;
    let fits = |reader: &usize| {
        let reader_node = &graph.nodes[*reader];
        sinks[*reader] == Some(sink)
            && matches!(reader_node.op, Op::Element(_))
            && graph.shape(reader_node.output) == graph.shape(node.output)
    };
    readers.iter().all(fits).then_some(sink)
}

fn has_room(graph: &Graph, group: &Group, node: usize, inputs_max: usize) -> bool {
    if group.nodes.len() >= INSTRUCTIONS_MAX {
        return false;
    }
    let members: Vec<usize> = group.nodes.iter().copied().chain([node]).collect();
    let inside: BTreeSet<ValueId> = members.iter().map(|member| graph.nodes[*member].output).collect();
    let read: BTreeSet<ValueId> = members
        .iter()
        .flat_map(|member| graph.nodes[*member].inputs.iter().copied())
        .filter(|input| !inside.contains(input) && graph.scalar(*input).is_none())
        .collect();
    read.len() <= inputs_max
}

/// Translates a group of elementwise nodes to instructions.
pub fn chain(graph: &Graph, group: &Group) -> ChainCode {
    let mut code = ChainCode { inputs: Vec::new(), scalars: Vec::new(), instructions: Vec::new() };
    let mut results: Vec<(ValueId, Operand)> = Vec::new();
    for index in &group.nodes {
        let node = &graph.nodes[*index];
        let operands: Vec<Operand> =
            node.inputs.iter().map(|id| operand(graph, *id, &results, &mut code)).collect();
        let result = match node.op {
            Op::Element(op) => {
                code.instructions.push(Instruction { op, operands });
                Operand::Result(code.instructions.len() - 1)
            }
            // A broadcast needs no instruction: the chain reads its input with broadcasting.
            _ => operands[0],
        };
        results.push((node.output, result));
    }
    code
}

fn operand(graph: &Graph, id: ValueId, results: &[(ValueId, Operand)], code: &mut ChainCode) -> Operand {
    if let Some((_, operand)) = results.iter().find(|(value, _)| *value == id) {
        return *operand;
    }
    if let Some(number) = graph.scalar(id) {
        let same = code.scalars.iter().position(|scalar| scalar.to_bits() == number.to_bits());
        return Operand::Scalar(same.unwrap_or_else(|| {
            code.scalars.push(number);
            code.scalars.len() - 1
        }));
    }
    let known = code.inputs.iter().position(|input| *input == id);
    Operand::Input(known.unwrap_or_else(|| {
        code.inputs.push(id);
        code.inputs.len() - 1
    }))
}

/// Returns for each node whether the outputs depend on it.
pub fn needed_nodes(graph: &Graph, outputs: &[ValueId]) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes.len()];
    let mut pending: Vec<ValueId> = outputs.to_vec();
    while let Some(id) = pending.pop() {
        if let Source::Node(index) = graph.values[id.0].source
            && !std::mem::replace(&mut needed[index], true)
        {
            pending.extend(&graph.nodes[index].inputs);
        }
    }
    needed
}
