//! A model as its file has it: what it reads, what it trains, and the bytes into which weights go back.

use std::collections::BTreeMap;
use std::fmt;

use prost::bytes::Bytes;

use super::import::{Imported, ModelNode, import};
use super::locate::elements;
use super::{ExportError, ImportError, ImportLimits, Lowered, Mode, with_weights};
use crate::parameter::ParameterSpec;

/// An ONNX file that can be trained.
pub struct ModelFile {
    bytes: Bytes,
    imported: Imported,
}

impl ModelFile {
    /// Reads ONNX bytes, of which it keeps one copy.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the bytes are not an ONNX model, are over a limit, or use something that is not
    /// supported.
    pub fn read(bytes: &[u8], limits: &ImportLimits) -> Result<Self, ImportError> {
        if bytes.len() > limits.model_bytes_max {
            return Err(ImportError::ModelTooLarge { bytes: bytes.len(), limit: limits.model_bytes_max });
        }
        let bytes = Bytes::copy_from_slice(bytes);
        let imported = import(&bytes, limits)?;
        Ok(Self { bytes, imported })
    }

    /// The trainable tensors in schema order.
    pub fn parameters(&self) -> &[ParameterSpec] {
        &self.imported.parameters
    }

    /// The number of elements of all trainable tensors together.
    pub fn parameter_count(&self) -> usize {
        self.parameters().iter().map(ParameterSpec::element_count).sum()
    }

    /// The weights in the file: all trainable tensors, row-major, one after the other in schema order.
    pub fn initial_weights(&self) -> Vec<f32> {
        let mut weights = Vec::with_capacity(self.parameter_count());
        for chunks in &self.imported.places {
            weights.extend(elements(&self.bytes, chunks));
        }
        weights
    }

    /// The dimensions of one example's features, without the batch dimension.
    pub fn input_shape(&self) -> &[usize] {
        &self.imported.input_shape
    }

    /// The dimensions of the output for one example, without the batch dimension.
    pub fn output_shape(&self) -> &[usize] {
        &self.imported.output_shape
    }

    /// The file with these weights, given flat in schema order. Nothing else in it changes.
    ///
    /// # Errors
    /// Returns an [`ExportError`] if there are too few or too many weights, or one is not finite.
    pub fn export_onnx(&self, weights: &[f32]) -> Result<Vec<u8>, ExportError> {
        with_weights(&self.bytes, &self.imported.places, weights)
    }

    /// The ONNX operators of the file, and how many nodes of each there are.
    pub fn operators(&self) -> BTreeMap<String, usize> {
        self.imported.operators()
    }

    /// The nodes of the file's graph, in its order.
    pub fn nodes(&self) -> Vec<ModelNode> {
        self.imported.nodes()
    }

    /// The graph for this batch size.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot have this batch size, or would be over a limit.
    pub fn lower(&self, batch: usize, mode: Mode) -> Result<Lowered, ImportError> {
        self.imported.lower(batch, mode)
    }
}

/// Lists the parameters, not the weights: they may be hundreds of megabytes.
impl fmt::Debug for ModelFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ModelFile").field("parameters", &self.parameters()).finish_non_exhaustive()
    }
}
