//! Writes copies of tensors into a file, and lets nodes read them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use prost::Message;
use prost::bytes::Bytes;
use prost::encoding::encode_varint;

use crate::locate::elements;
use crate::proto::{FLOAT, GraphProto, TensorProto};
use crate::wire::fields;
use crate::{Chunks, ImportError};

const MODEL_GRAPH: u64 = 7;
const GRAPH_NODE: u64 = 1;
const GRAPH_INITIALIZER: u64 = 5;
const NODE_INPUT: u64 = 1;
/// The wire type of content with a length.
const LENGTH: u64 = 2;

/// A copy of an initializer.
pub(super) struct Copied {
    /// The position of the initializer.
    pub(super) initializer: usize,
    /// The copy's name.
    pub(super) name: String,
    /// The nodes and input positions that read the copy instead.
    pub(super) readers: Vec<(usize, usize)>,
    /// The node that the copy replaces: its output has the copy's name.
    pub(super) replaced: Option<usize>,
}

/// Returns the file with the copies, each behind its original. All other bytes are kept.
///
/// # Errors
/// Returns [`ImportError::File`] for malformed bytes.
pub(super) fn rewritten(
    bytes: &[u8],
    graph: &GraphProto,
    chunks: &[Chunks],
    copies: &[Copied],
) -> Result<Vec<u8>, ImportError> {
    let mut inputs: BTreeMap<usize, BTreeMap<usize, &str>> = BTreeMap::new();
    for copy in copies {
        for (node, position) in &copy.readers {
            inputs.entry(*node).or_default().insert(*position, &copy.name);
        }
    }
    let mut file = Vec::with_capacity(bytes.len());
    for_each_field(bytes, 0..bytes.len(), |number, whole, content| {
        if number != MODEL_GRAPH {
            file.extend_from_slice(&bytes[whole]);
            return Ok(());
        }
        let removed = copies.iter().filter_map(|copy| copy.replaced).collect();
        let content = new_graph(bytes, content, &inputs, &removed, |initializer| {
            let of_it = copies.iter().filter(|copy| copy.initializer == initializer);
            let tensor = |copy: &Copied| copied(bytes, graph, chunks, copy).encode_to_vec();
            of_it.map(tensor).collect()
        })?;
        write_field(&mut file, MODEL_GRAPH, &content);
        Ok(())
    })?;
    Ok(file)
}

/// Returns the graph with other inputs of some nodes, without others, and with new initializers behind some of its own.
fn new_graph(
    bytes: &[u8],
    graph: Range<usize>,
    inputs: &BTreeMap<usize, BTreeMap<usize, &str>>,
    removed: &BTreeSet<usize>,
    copies: impl Fn(usize) -> Vec<Vec<u8>>,
) -> Result<Vec<u8>, ImportError> {
    let (mut nodes, mut initializers) = (0, 0);
    let mut new = Vec::with_capacity(graph.len());
    for_each_field(bytes, graph, |number, whole, content| {
        match number {
            GRAPH_NODE => {
                match inputs.get(&nodes) {
                    _ if removed.contains(&nodes) => {}
                    Some(inputs) => write_field(&mut new, GRAPH_NODE, &new_node(bytes, content, inputs)?),
                    None => new.extend_from_slice(&bytes[whole]),
                }
                nodes += 1;
            }
            GRAPH_INITIALIZER => {
                new.extend_from_slice(&bytes[whole]);
                copies(initializers).iter().for_each(|copy| write_field(&mut new, GRAPH_INITIALIZER, copy));
                initializers += 1;
            }
            _ => new.extend_from_slice(&bytes[whole]),
        }
        Ok(())
    })?;
    Ok(new)
}

/// Returns the node with other inputs at some positions.
fn new_node(
    bytes: &[u8],
    node: Range<usize>,
    inputs: &BTreeMap<usize, &str>,
) -> Result<Vec<u8>, ImportError> {
    let mut position = 0;
    let mut new = Vec::with_capacity(node.len());
    for_each_field(bytes, node, |number, whole, _| {
        let name = inputs.get(&position).filter(|_| number == NODE_INPUT);
        match name {
            Some(name) => write_field(&mut new, NODE_INPUT, name.as_bytes()),
            None => new.extend_from_slice(&bytes[whole]),
        }
        position += usize::from(number == NODE_INPUT);
        Ok(())
    })?;
    Ok(new)
}

/// Returns a copy of an initializer, with only what the engine and other readers need.
fn copied(bytes: &[u8], graph: &GraphProto, chunks: &[Chunks], copy: &Copied) -> TensorProto {
    let values = elements(bytes, &chunks[copy.initializer]);
    TensorProto {
        dims: graph.initializer[copy.initializer].dims.clone(),
        data_type: FLOAT,
        name: copy.name.clone(),
        raw_data: Bytes::from_iter(values.flat_map(f32::to_le_bytes)),
        ..Default::default()
    }
}

/// Calls `visit(number, range with tag and length, range of the content)` for each field of a message.
fn for_each_field(
    bytes: &[u8],
    message: Range<usize>,
    mut visit: impl FnMut(u64, Range<usize>, Range<usize>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut start = message.start;
    for field in fields(bytes, message) {
        let field = field?;
        let whole = start..field.content.end;
        start = whole.end;
        visit(field.number, whole, field.content)?;
    }
    Ok(())
}

fn write_field(message: &mut Vec<u8>, number: u64, content: &[u8]) {
    encode_varint(number << 3 | LENGTH, message);
    encode_varint(content.len() as u64, message);
    message.extend_from_slice(content);
}
