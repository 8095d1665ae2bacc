//! Separates tensors that an exporter merged because they were equal when it wrote the file.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost::bytes::Bytes;

use super::rewrite::{Copied, rewritten};
use super::uses::{Use, Uses};
use super::{Metadata, Remark, Slot};
use crate::locate::{element_count, elements, initializer_chunks};
use crate::operators::with_branches;
use crate::proto::{FLOAT, GraphProto, ModelProto, NodeProto};
use crate::{Chunks, FileError, ImportError, ImportLimits};

/// The maximum number of inputs of all nodes together.
const INPUTS_MAX: usize = 1_000_000;
/// The maximum number of bytes in a tensor's name. Longer names do not fit a schema.
const NAME_BYTES_MAX: usize = 256;

/// Gives each reader that should not share a tensor its own copy. Returns the file, and a remark for each copy. If
/// there is no such reader, the bytes are unchanged.
///
/// A tensor is separated where sharing is an accident of equal values: each layer gets its own bias, and each layer and
/// each normalization gets its own weight if all elements of the stored one are equal. Layers that share a weight
/// matrix also share its bias and the normalizations after it. The metadata of the file can say otherwise.
///
/// # Errors
/// Returns an [`ImportError`] for malformed bytes, and if the separate tensors exceed a limit.
pub(crate) fn separated(bytes: &Bytes, limits: &ImportLimits) -> Result<(Bytes, Vec<Remark>), ImportError> {
    let chunks = initializer_chunks(bytes, limits)?;
    let metadata = Metadata::read(bytes)?;
    let malformed =
        |error: prost::DecodeError| ImportError::File(FileError::Malformed { reason: error.to_string() });
    let graph = ModelProto::decode(bytes.clone()).map_err(malformed)?.graph.unwrap_or_default();
    let count = graph.node.iter().map(|node| node.input.len()).sum();
    if count > INPUTS_MAX {
        return Err(ImportError::File(FileError::TooMany { what: "node inputs", count, limit: INPUTS_MAX }));
    }
    let uses = Uses::new(&graph);
    let groups =
        Grouping { bytes, graph: &graph, chunks: &chunks, uses: &uses, metadata: &metadata }.groups();
    let (mut remarks, mut copies) = (Vec::new(), Vec::new());
    let mut names = names(&graph);
    let mut total: usize = chunks.iter().map(element_count).sum();
    for (initializer, groups) in groups {
        let tensor = &graph.initializer[initializer];
        total = total.saturating_add(element_count(&chunks[initializer]).saturating_mul(groups.len() - 1));
        if total > limits.parameters_max {
            let (what, limit) = ("parameters", limits.parameters_max);
            return Err(ImportError::File(FileError::TooMany { what, count: total, limit }));
        }
        let count = graph.initializer.len() + copies.len() + groups.len() - 1;
        if count > limits.initializers_max {
            return Err(ImportError::File(FileError::TooMany {
                what: "initializers",
                count,
                limit: limits.initializers_max,
            }));
        }
        let own_aliases = own_aliases(&groups, &graph, &uses);
        let mut own = vec![tensor.name.clone()];
        for group in &groups[1..] {
            let copy = copied(initializer, &tensor.name, group, &own_aliases, &uses, &mut names);
            own.push(copy.name.clone());
            copies.push(copy);
        }
        remarks.push(Remark::Separated { tensor: tensor.name.clone(), names: own });
    }
    if copies.is_empty() {
        return Ok((bytes.clone(), Vec::new()));
    }
    Ok((rewritten(bytes, &graph, &chunks, &copies)?.into(), remarks))
}

/// Returns the names of all values of a graph.
fn names(graph: &GraphProto) -> BTreeSet<String> {
    let tensors = graph.initializer.iter().map(|tensor| &tensor.name);
    let inputs = graph.input.iter().map(|input| &input.name);
    let nodes = with_branches(&graph.node);
    let outputs = nodes.into_iter().flat_map(|node| &node.output);
    tensors.chain(inputs).chain(outputs).cloned().collect()
}

/// Returns the `Identity` nodes that name a tensor for the uses of a single group.
fn own_aliases(groups: &[Vec<Use>], graph: &GraphProto, uses: &Uses<'_>) -> BTreeSet<usize> {
    let outputs: BTreeSet<&str> = graph.output.iter().map(|output| output.name.as_str()).collect();
    let mut groups_of: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (number, group) in groups.iter().enumerate() {
        for via in group.iter().filter_map(|one| one.via) {
            groups_of.entry(via).or_default().insert(number);
        }
    }
    let is_output = |via: usize| uses.node(via).output.iter().any(|name| outputs.contains(name.as_str()));
    let single = groups_of.into_iter().filter(|(via, groups)| groups.len() == 1 && !is_output(*via));
    single.map(|(via, _)| via).collect()
}

/// Returns the copy of a tensor for a group of its readers. If an `Identity` node names the tensor for this group only,
/// the copy gets that name, which is the tensor's own in the exported module, and replaces the node.
fn copied(
    initializer: usize,
    tensor: &str,
    group: &[Use],
    own_aliases: &BTreeSet<usize>,
    uses: &Uses<'_>,
    names: &mut BTreeSet<String>,
) -> Copied {
    let vias: BTreeSet<usize> =
        group.iter().filter_map(|one| one.via).filter(|via| own_aliases.contains(via)).collect();
    let replaced = vias.first().copied();
    let name = match replaced {
        Some(via) => uses.node(via).output[0].clone(),
        None => new_name(tensor, reader_name(uses.node(group[0].node)), names),
    };
    let others = vias.iter().skip(1).map(|via| (*via, 0));
    let direct = group.iter().filter(|one| one.via.is_none_or(|via| !vias.contains(&via)));
    let readers = others.chain(direct.map(|one| (one.node, one.position))).collect();
    Copied { initializer, name, readers, replaced }
}

/// Returns the name of a node, or the name of its first output if the node has none.
fn reader_name(node: &NodeProto) -> &str {
    match node.name.as_str() {
        "" => node.output.first().map_or("", String::as_str),
        name => name,
    }
}

/// Derives a new name from the names of the tensor and of the node that reads it. The name depends only on the file.
fn new_name(tensor: &str, node: &str, names: &mut BTreeSet<String>) -> String {
    let mut name = format!("{tensor}@{node}");
    let mut number = 2;
    while name.len() > NAME_BYTES_MAX || names.contains(&name) {
        name = format!("{tensor}@{number}");
        number += 1;
        if name.len() > NAME_BYTES_MAX && !names.contains(&name) {
            // The schema refuses the name, and says so.
            break;
        }
    }
    names.insert(name.clone());
    name
}

/// Groups the readers of each tensor; a group keeps one tensor.
struct Grouping<'a> {
    bytes: &'a [u8],
    graph: &'a GraphProto,
    chunks: &'a [Chunks],
    uses: &'a Uses<'a>,
    metadata: &'a Metadata,
}

/// Uses with equal keys share a tensor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    /// All uses that nothing separates.
    Common,
    /// The uses of one node.
    Node(usize),
    /// The input of a normalization or a recurrent layer at this position, whose inputs have different roles.
    Input(usize, usize),
    /// Uses behind layers with the same weight; the number distinguishes uses behind the same node.
    Layer(&'a str, usize),
}

impl<'a> Grouping<'a> {
    /// Returns the groups of uses of every initializer that has several groups.
    fn groups(&self) -> Vec<(usize, Vec<Vec<Use>>)> {
        let candidates: Vec<usize> = (0..self.graph.initializer.len())
            .filter(|index| self.graph.initializer[*index].data_type == FLOAT)
            .filter(|index| element_count(&self.chunks[*index]) > 0)
            .filter(|index| self.uses.of(&self.graph.initializer[*index].name).len() > 1)
            .filter(|index| !self.metadata.is_shared(&self.graph.initializer[*index].name))
            .collect();
        let has_split_weight = |index: &&usize| {
            let uses = self.uses.of(&self.graph.initializer[**index].name);
            uses.iter().filter(|one| one.slot == Slot::Weight).count() > 1 && self.splits_weights(**index)
        };
        let split: BTreeSet<&str> = candidates
            .iter()
            .filter(has_split_weight)
            .map(|index| self.graph.initializer[*index].name.as_str())
            .collect();
        let groups = candidates.into_iter().map(|index| (index, self.groups_of(index, &split)));
        groups.filter(|(_, groups)| groups.len() > 1).collect()
    }

    fn splits_weights(&self, initializer: usize) -> bool {
        self.metadata.is_separate(&self.graph.initializer[initializer].name) || self.is_uniform(initializer)
    }

    /// Returns whether all elements are equal, as in a tensor that was just initialized with zeros or ones.
    fn is_uniform(&self, initializer: usize) -> bool {
        let mut elements = elements(self.bytes, &self.chunks[initializer]);
        let first = elements.next();
        elements.all(|element| Some(element) == first)
    }

    fn groups_of(&self, initializer: usize, split: &BTreeSet<&str>) -> Vec<Vec<Use>> {
        let tensor = &self.graph.initializer[initializer];
        let uses = self.uses.of(&tensor.name);
        if self.metadata.is_separate(&tensor.name) {
            return by_key(uses.iter().map(|one| (self.own_key(*one), *one)));
        }
        let is_single = element_count(&self.chunks[initializer]) == 1;
        let is_uniform = self.is_uniform(initializer);
        // The number of uses found behind each node of a layer.
        let mut behind: BTreeMap<usize, usize> = BTreeMap::new();
        let keyed = uses.iter().map(|one| {
            let is_accident = match one.slot {
                Slot::Weight | Slot::Vector => is_uniform,
                Slot::Bias => true,
                // A single number in a formula is a constant.
                Slot::Operand => is_uniform && !is_single,
                Slot::Other => false,
            };
            let key = match (one.slot, is_accident) {
                (_, false) => Key::Common,
                (Slot::Weight, true) => self.own_key(*one),
                (_, true) => self.by_layer(*one, split, &mut behind),
            };
            (key, *one)
        });
        by_key(keyed)
    }

    fn by_layer(&self, one: Use, split: &BTreeSet<&str>, behind: &mut BTreeMap<usize, usize>) -> Key<'a> {
        match self.uses.layer_before(one) {
            Some((weight, node)) if !split.contains(weight) => {
                let number = behind.entry(node).or_default();
                *number += 1;
                Key::Layer(weight, *number)
            }
            _ => self.own_key(one),
        }
    }

    /// Returns the key of a use that shares its tensor with no other node. Only a product may read a tensor twice.
    fn own_key(&self, one: Use) -> Key<'a> {
        match self.uses.node(one.node).op_type.as_str() {
            "MatMul" | "Gemm" | "Einsum" | "Add" | "Sub" | "Mul" | "Div" => Key::Node(one.node),
            _ => Key::Input(one.node, one.position),
        }
    }
}

/// Groups uses by key, in the order of the first use of each group. The group of the first direct use comes first,
/// because the stored name is its own.
fn by_key<'a>(keyed: impl Iterator<Item = (Key<'a>, Use)>) -> Vec<Vec<Use>> {
    let (mut positions, mut groups): (BTreeMap<Key<'_>, usize>, Vec<Vec<Use>>) = Default::default();
    for (key, one) in keyed {
        let position = *positions.entry(key).or_insert(groups.len());
        if position == groups.len() {
            groups.push(Vec::new());
        }
        groups[position].push(one);
    }
    if let Some(own) = groups.iter().position(|group| group.iter().any(|one| one.via.is_none())) {
        groups[..=own].rotate_right(1);
    }
    groups
}
