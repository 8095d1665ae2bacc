//! Finds the weights in the bytes of a model. Checks all limits on counts before anything is decoded.

use std::ops::Range;

use super::wire::{Encoding, Field, fields};
use super::{FileError, ImportLimits};

const MODEL_GRAPH: u64 = 7;
const GRAPH_NODE: u64 = 1;
const GRAPH_INITIALIZER: u64 = 5;
const NODE_ATTRIBUTE: u64 = 5;
const ATTRIBUTE_GRAPH: u64 = 6;
const MODEL_FUNCTION: u64 = 25;
const FUNCTION_NODE: u64 = 7;
const TENSOR_FLOAT_DATA: u64 = 4;
const TENSOR_RAW_DATA: u64 = 9;
const FLOAT_BYTES: usize = 4;

/// The byte ranges of one initializer's little-endian `f32` elements, in order; empty if it has no elements.
pub type Chunks = Vec<Range<usize>>;

/// Counts everything that takes memory when decoded. Returns the data ranges of every initializer, in file order.
///
/// # Errors
/// Returns [`FileError::Malformed`] for malformed or truncated bytes, and [`FileError::TooMany`] if a limit is
/// exceeded.
pub fn initializer_chunks(bytes: &[u8], limits: &ImportLimits) -> Result<Vec<Chunks>, FileError> {
    let graph = only_graph(bytes)?;
    let mut counts = Counts { bytes, limits, nodes: 0, attributes: 0, initializers: 0 };
    let mut initializers = Vec::new();
    for field in fields(bytes, graph) {
        let field = field?;
        counts.add(&field, GRAPH_NODE, 0)?;
        if field.number == GRAPH_INITIALIZER {
            initializers.push(tensor_chunks(bytes, field)?);
        }
    }
    for function in fields(bytes, 0..bytes.len()) {
        let function = function?;
        if function.number == MODEL_FUNCTION {
            for field in fields(bytes, function.content) {
                counts.add(&field?, FUNCTION_NODE, 0)?;
            }
        }
    }
    Ok(initializers)
}

/// The maximum number of levels of nested graphs, such as branches of `If`.
pub(crate) const GRAPHS_MAX: usize = 16;

/// Everything that is counted in all graphs and functions together.
struct Counts<'a> {
    bytes: &'a [u8],
    limits: &'a ImportLimits,
    nodes: usize,
    attributes: usize,
    initializers: usize,
}

impl Counts<'_> {
    /// Counts a field of a graph or of a function, whose nodes have this field number.
    fn add(&mut self, field: &Field, node: u64, depth: usize) -> Result<(), FileError> {
        if field.number == node {
            self.nodes += 1;
            within("nodes", self.nodes, self.limits.nodes_max)?;
            for part in fields(self.bytes, field.content.clone()) {
                let part = part?;
                if part.number == NODE_ATTRIBUTE {
                    self.attributes += 1;
                    within("attributes", self.attributes, self.limits.attributes_max)?;
                    self.add_graphs(&part, depth)?;
                }
            }
        } else if field.number == GRAPH_INITIALIZER && node == GRAPH_NODE {
            self.initializers += 1;
            within("initializers", self.initializers, self.limits.initializers_max)?;
        }
        Ok(())
    }

    /// Counts the graphs in an attribute.
    fn add_graphs(&mut self, attribute: &Field, depth: usize) -> Result<(), FileError> {
        for part in fields(self.bytes, attribute.content.clone()) {
            let part = part?;
            if part.number != ATTRIBUTE_GRAPH {
                continue;
            }
            within("levels of nested graphs", depth + 1, GRAPHS_MAX)?;
            for field in fields(self.bytes, part.content) {
                self.add(&field?, GRAPH_NODE, depth + 1)?;
            }
        }
        Ok(())
    }
}

fn only_graph(bytes: &[u8]) -> Result<Range<usize>, FileError> {
    let mut graph = None;
    for field in fields(bytes, 0..bytes.len()) {
        let field = field?;
        if field.number == MODEL_GRAPH && graph.replace(field.content).is_some() {
            return Err(FileError::Malformed { reason: "the model has two graphs".into() });
        }
    }
    graph.ok_or(FileError::Malformed { reason: "the model has no graph".into() })
}

pub(crate) fn within(what: &'static str, count: usize, limit: usize) -> Result<(), FileError> {
    if count > limit { Err(FileError::TooMany { what, count, limit }) } else { Ok(()) }
}

fn tensor_chunks(bytes: &[u8], tensor: Field) -> Result<Chunks, FileError> {
    let mut chunks = Chunks::new();
    for field in fields(bytes, tensor.content) {
        let field = field?;
        let is_data = match field.number {
            TENSOR_RAW_DATA => field.encoding == Encoding::Length,
            TENSOR_FLOAT_DATA => matches!(field.encoding, Encoding::Length | Encoding::Fixed32),
            _ => false,
        };
        if is_data && field.content.len() % FLOAT_BYTES == 0 {
            chunks.push(field.content);
        }
    }
    Ok(chunks)
}

/// Returns the number of `f32` elements in the chunks.
pub fn element_count(chunks: &Chunks) -> usize {
    chunks.iter().map(|chunk| chunk.len() / FLOAT_BYTES).sum()
}

/// Returns the elements in the chunks.
pub fn elements<'a>(bytes: &'a [u8], chunks: &'a Chunks) -> impl Iterator<Item = f32> + 'a {
    chunks.iter().flat_map(|chunk| {
        let (elements, _) = bytes[chunk.clone()].as_chunks::<FLOAT_BYTES>();
        elements.iter().map(|element| f32::from_le_bytes(*element))
    })
}

/// Overwrites the elements in the chunks with `elements`, which must have the same length.
pub fn overwrite(bytes: &mut [u8], chunks: &Chunks, elements: &[f32]) {
    let mut elements = elements.iter();
    for chunk in chunks {
        let (places, _) = bytes[chunk.clone()].as_chunks_mut::<FLOAT_BYTES>();
        for (place, element) in places.iter_mut().zip(elements.by_ref()) {
            *place = element.to_le_bytes();
        }
    }
}
