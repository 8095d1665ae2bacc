//! The model that a plan trains: an imported graph, its parameters and the bytes that it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use folkmoot_onnx::{
    ExportError, ImportError, ImportLimits, Lowered, Mode, ModelFile, ModelNode, ParameterSpec,
};

use crate::safetensors::{self, WeightsError};

/// A model read from ONNX. Cloning is cheap: copies share their content.
///
/// Weights are the float initializers that a node reads, in the order of `graph.initializer`; that order is the schema
/// order of every flat vector of weights. Running statistics are among them. `Constant` nodes are frozen.
#[derive(Clone)]
pub struct Model(Arc<Content>);

struct Content {
    file: ModelFile,
    parameter_count: usize,
}

impl Model {
    /// Reads ONNX bytes, of which it keeps one copy.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the bytes are not an ONNX model, are over a limit, or use something that
    /// the engine does not support.
    pub fn from_onnx(bytes: &[u8], limits: &ImportLimits) -> Result<Self, ImportError> {
        let file = ModelFile::read(bytes, limits)?;
        let parameter_count = file.parameter_count();
        Ok(Self(Arc::new(Content { file, parameter_count })))
    }

    /// The trainable tensors in schema order.
    pub fn parameters(&self) -> &[ParameterSpec] {
        self.0.file.parameters()
    }

    /// The number of elements of all trainable tensors together.
    pub fn parameter_count(&self) -> usize {
        self.0.parameter_count
    }

    /// The weights in the ONNX file: all trainable tensors, row-major, one after the other in schema order.
    pub fn initial_weights(&self) -> Vec<f32> {
        self.0.file.initial_weights()
    }

    /// The dimensions of one example's features, without the batch dimension.
    pub fn input_shape(&self) -> &[usize] {
        self.0.file.input_shape()
    }

    /// The dimensions of the output for one example, without the batch dimension.
    pub fn output_shape(&self) -> &[usize] {
        self.0.file.output_shape()
    }

    /// The ONNX file with these weights, given flat in schema order. Nothing else in the file changes.
    ///
    /// # Errors
    /// Returns an [`ExportError`] if there are too few or too many weights, or one is not finite.
    pub fn export_onnx(&self, weights: &[f32]) -> Result<Vec<u8>, ExportError> {
        self.0.file.export_onnx(weights)
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
        self.0.file.operators()
    }

    /// The nodes of the file's graph, in its order.
    pub fn nodes(&self) -> Vec<ModelNode> {
        self.0.file.nodes()
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
        self.0.file.lower(batch, mode)
    }
}

/// Lists the parameters, not the weights: they may be hundreds of megabytes.
impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("parameters", &self.parameters()).finish_non_exhaustive()
    }
}
