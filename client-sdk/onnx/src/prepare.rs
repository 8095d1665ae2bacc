//! Prepares files of any exporter: float32 weights, one tensor for each layer, no calls of functions, and no outputs that
//! cannot be computed. The small importer reads only files that need no preparation.

use prost::bytes::Bytes;

use super::outputs::ModelOutput;
use super::proto::{GraphProto, ModelProto, NodeProto};
use super::weights::Remark;
use super::{Chunks, ImportError, ImportLimits};

/// Converts the file to single precision, and gives each layer its own weights. Returns the file, and a remark for each
/// weight that was separated.
///
/// # Errors
/// Returns an [`ImportError`] for malformed bytes and exceeded limits.
#[cfg(feature = "complete")]
pub(super) fn file(bytes: Bytes, limits: &ImportLimits) -> Result<(Bytes, Vec<Remark>), ImportError> {
    let bytes = super::precision::single(&bytes, limits)?.map_or(bytes, Bytes::from);
    super::weights::separated(&bytes, limits)
}

/// Returns the file as it is.
#[cfg(not(feature = "complete"))]
pub(super) fn file(bytes: Bytes, _: &ImportLimits) -> Result<(Bytes, Vec<Remark>), ImportError> {
    Ok((bytes, Vec::new()))
}

/// Replaces linear models whose weights are attributes by layers. `chunks` gets the places of their weights.
///
/// # Errors
/// Returns an [`ImportError`] for a linear model that converters do not write.
#[cfg(feature = "complete")]
pub(super) fn linear_models(
    model: &mut ModelProto,
    bytes: &[u8],
    chunks: &mut Vec<Chunks>,
) -> Result<(), ImportError> {
    super::linear::replace(model, bytes, chunks)
}

/// Replaces nothing: the small importer does not have these operators.
#[cfg(not(feature = "complete"))]
pub(super) fn linear_models(_: &mut ModelProto, _: &[u8], _: &mut Vec<Chunks>) -> Result<(), ImportError> {
    Ok(())
}

/// Takes the nodes out of the graph, and replaces calls of functions by their nodes.
///
/// # Errors
/// Returns an [`ImportError`] for functions that cannot be replaced by their nodes.
#[cfg(feature = "complete")]
pub(super) fn nodes(
    model: &mut ModelProto,
    opset: i64,
    limits: &ImportLimits,
) -> Result<Vec<NodeProto>, ImportError> {
    super::functions::inlined(model, opset, limits)
}

/// Takes the nodes out of the graph.
///
/// # Errors
/// Returns [`ImportError::NotObvious`] if the file has functions.
#[cfg(not(feature = "complete"))]
pub(super) fn nodes(model: &mut ModelProto, _: i64, _: &ImportLimits) -> Result<Vec<NodeProto>, ImportError> {
    match model.functions.is_empty() {
        true => Ok(model.graph.as_mut().map(|graph| std::mem::take(&mut graph.node)).unwrap_or_default()),
        false => Err(ImportError::NotObvious { what: "a function".into() }),
    }
}

/// Removes the outputs that depend on unsupported operators, if others do not, and returns them.
#[cfg(feature = "complete")]
pub(super) fn outputs(graph: &mut GraphProto) -> Vec<ModelOutput> {
    super::unsupported::remove(graph)
}

/// Removes nothing: the small importer reads models with one output.
#[cfg(not(feature = "complete"))]
pub(super) fn outputs(_: &mut GraphProto) -> Vec<ModelOutput> {
    Vec::new()
}
