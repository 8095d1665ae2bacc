//! Finds the weights in the bytes of a model. Checks all limits on counts before anything is decoded.

use std::ops::Range;

use super::wire::{Encoding, Field, fields};
use super::{ImportError, ImportLimits};

const MODEL_GRAPH: u64 = 7;
const GRAPH_NODE: u64 = 1;
const GRAPH_INITIALIZER: u64 = 5;
const NODE_ATTRIBUTE: u64 = 5;
const TENSOR_FLOAT_DATA: u64 = 4;
const TENSOR_RAW_DATA: u64 = 9;
const FLOAT_BYTES: usize = 4;

/// The byte ranges of one initializer's little-endian `f32` elements, in order; empty if it has no elements.
pub(crate) type Chunks = Vec<Range<usize>>;

/// Counts everything that takes memory when decoded. Returns the data ranges of every initializer, in file order.
///
/// # Errors
/// Returns [`ImportError::Malformed`] for malformed or truncated bytes, and [`ImportError::TooMany`] if a limit is
/// exceeded.
pub(super) fn initializer_chunks(bytes: &[u8], limits: &ImportLimits) -> Result<Vec<Chunks>, ImportError> {
    let graph = only_graph(bytes)?;
    let mut initializers = Vec::new();
    let (mut nodes, mut attributes) = (0, 0);
    for field in fields(bytes, graph) {
        let field = field?;
        match field.number {
            GRAPH_NODE => {
                nodes += 1;
                attributes += count(bytes, &field, NODE_ATTRIBUTE)?;
                within("nodes", nodes, limits.nodes_max)?;
                within("attributes", attributes, limits.attributes_max)?;
            }
            GRAPH_INITIALIZER => {
                initializers.push(tensor_chunks(bytes, field)?);
                within("initializers", initializers.len(), limits.initializers_max)?;
            }
            _ => {}
        }
    }
    Ok(initializers)
}

fn only_graph(bytes: &[u8]) -> Result<Range<usize>, ImportError> {
    let mut graph = None;
    for field in fields(bytes, 0..bytes.len()) {
        let field = field?;
        if field.number == MODEL_GRAPH && graph.replace(field.content).is_some() {
            return Err(ImportError::Malformed { reason: "the model has two graphs".into() });
        }
    }
    graph.ok_or(ImportError::Malformed { reason: "the model has no graph".into() })
}

fn count(bytes: &[u8], message: &Field, number: u64) -> Result<usize, ImportError> {
    let mut count = 0;
    for field in fields(bytes, message.content.clone()) {
        count += usize::from(field?.number == number);
    }
    Ok(count)
}

fn within(what: &'static str, count: usize, limit: usize) -> Result<(), ImportError> {
    if count > limit { Err(ImportError::TooMany { what, count, limit }) } else { Ok(()) }
}

fn tensor_chunks(bytes: &[u8], tensor: Field) -> Result<Chunks, ImportError> {
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
pub(super) fn element_count(chunks: &Chunks) -> usize {
    chunks.iter().map(|chunk| chunk.len() / FLOAT_BYTES).sum()
}

/// Returns the elements in the chunks.
pub(crate) fn elements<'a>(bytes: &'a [u8], chunks: &'a Chunks) -> impl Iterator<Item = f32> + 'a {
    chunks.iter().flat_map(|chunk| {
        let (elements, _) = bytes[chunk.clone()].as_chunks::<FLOAT_BYTES>();
        elements.iter().map(|element| f32::from_le_bytes(*element))
    })
}

/// Overwrites the elements in the chunks with `elements`, which must have the same length.
pub(super) fn overwrite(bytes: &mut [u8], chunks: &Chunks, elements: &[f32]) {
    let mut elements = elements.iter();
    for chunk in chunks {
        let (places, _) = bytes[chunk.clone()].as_chunks_mut::<FLOAT_BYTES>();
        for (place, element) in places.iter_mut().zip(elements.by_ref()) {
            *place = element.to_le_bytes();
        }
    }
}
