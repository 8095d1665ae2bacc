//! The model that a plan trains: an imported graph, its parameters and the bytes that it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use prost::bytes::Bytes;

use crate::onnx::{self, Chunks, ExportError, ImportError, ImportLimits, Lowered, Mode, ModelNode};
use crate::parameter::ParameterSpec;
use crate::safetensors::{self, WeightsError};

/// A model read from ONNX. Cloning is cheap: copies share their content.
///
/// Weights are the float initializers that a node reads, in the order of `graph.initializer`; that order is the schema
/// order of every flat vector of weights. Running statistics are among them. `Constant` nodes are frozen.
#[derive(Clone)]
pub struct Model(Arc<Content>);

struct Content {
    bytes: Bytes,
    imported: onnx::Imported,
    parameter_count: usize,
}

impl Model {
    /// Reads ONNX bytes, of which it keeps one copy.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the bytes are not an ONNX model, are over a limit, or use something that
    /// the engine does not support.
    pub fn from_onnx(bytes: &[u8], limits: &ImportLimits) -> Result<Self, ImportError> {
        if bytes.len() > limits.model_bytes_max {
            return Err(ImportError::ModelTooLarge { bytes: bytes.len(), limit: limits.model_bytes_max });
        }
        let bytes = Bytes::copy_from_slice(bytes);
        let imported = onnx::import(&bytes, limits)?;
        let parameter_count = imported.parameters.iter().map(ParameterSpec::element_count).sum();
        Ok(Self(Arc::new(Content { bytes, imported, parameter_count })))
    }

    /// The trainable tensors in schema order.
    pub fn parameters(&self) -> &[ParameterSpec] {
        &self.0.imported.parameters
    }

    /// The number of elements of all trainable tensors together.
    pub fn parameter_count(&self) -> usize {
        self.0.parameter_count
    }

    /// The weights in the ONNX file: all trainable tensors, row-major, one after the other in schema order.
    pub fn initial_weights(&self) -> Vec<f32> {
        let mut weights = Vec::with_capacity(self.parameter_count());
        for chunks in &self.0.imported.places {
            weights.extend(onnx::elements(&self.0.bytes, chunks));
        }
        weights
    }

    /// The dimensions of one example's features, without the batch dimension.
    pub fn input_shape(&self) -> &[usize] {
        &self.0.imported.input_shape
    }

    /// The dimensions of the output for one example, without the batch dimension.
    pub fn output_shape(&self) -> &[usize] {
        &self.0.imported.output_shape
    }

    /// The ONNX file with these weights, given flat in schema order. Nothing else in the file changes.
    ///
    /// # Errors
    /// Returns an [`ExportError`] if there are too few or too many weights, or one is not finite.
    pub fn export_onnx(&self, weights: &[f32]) -> Result<Vec<u8>, ExportError> {
        let places: &[Chunks] = &self.0.imported.places;
        onnx::with_weights(&self.0.bytes, places, weights)
    }

    /// The weights in a safetensors file: a float32 tensor for each parameter, found by its name.
    ///
    /// # Errors
    /// Returns a [`WeightsError`] that names the tensor which is missing, of another shape or type, not finite, or not
    /// the model's.
    pub fn weights_from_safetensors(&self, bytes: &[u8]) -> Result<Vec<f32>, WeightsError> {
        safetensors::read(self.parameters(), bytes)
    }

    /// A safetensors file with these weights, given flat in schema order.
    ///
    /// # Errors
    /// Returns [`WeightsError::WrongLength`] if there are too few or too many weights.
    pub fn weights_to_safetensors(&self, weights: &[f32]) -> Result<Vec<u8>, WeightsError> {
        safetensors::write(self.parameters(), weights)
    }

    /// The ONNX operators of the file, and how many nodes of each there are.
    pub fn operators(&self) -> BTreeMap<String, usize> {
        self.0.imported.operators()
    }

    /// The nodes of the file's graph, in its order.
    pub fn nodes(&self) -> Vec<ModelNode> {
        self.0.imported.nodes()
    }

    /// Where each parameter lies in a flat vector of weights.
    pub(crate) fn parameter_ranges(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let ranges = self.parameters().iter().map(|spec| {
            let range = start..start + spec.element_count();
            start = range.end;
            range
        });
        ranges.collect()
    }

    /// The graph for this batch size.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot have this batch size, or would be over a limit.
    pub(crate) fn lower(&self, batch: usize, mode: Mode) -> Result<Lowered, ImportError> {
        self.0.imported.lower(batch, mode)
    }
}

/// Lists the parameters, not the weights: they may be hundreds of megabytes.
impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("parameters", &self.parameters()).finish_non_exhaustive()
    }
}
