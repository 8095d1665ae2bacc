//! Writes weights into a model's bytes.

use super::locate::overwrite;
use super::{Chunks, ExportError};

/// Returns a copy of `bytes` in which `weights` replace the elements at `places`, in order.
///
/// All other bytes are kept: names, documentation, metadata and fields that the engine does not know.
///
/// # Errors
/// Returns an [`ExportError`] if the number of weights does not match the places, or a weight is not finite.
pub(crate) fn with_weights(bytes: &[u8], places: &[Chunks], weights: &[f32]) -> Result<Vec<u8>, ExportError> {
    let expected = places.iter().map(super::locate::element_count).sum();
    if weights.len() != expected {
        return Err(ExportError::WrongLength { expected, found: weights.len() });
    }
    if let Some(index) = weights.iter().position(|weight| !weight.is_finite()) {
        return Err(ExportError::NotFinite { index });
    }
    let mut copy = bytes.to_vec();
    let mut rest = weights;
    for chunks in places {
        let (elements, others) = rest.split_at(super::locate::element_count(chunks));
        overwrite(&mut copy, chunks, elements);
        rest = others;
    }
    Ok(copy)
}
