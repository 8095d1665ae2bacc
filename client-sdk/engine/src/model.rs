//! The model that a plan trains: an imported graph, its parameters and the bytes that it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use folkmoot_onnx::{
    ExportError, FinalActivation, ImportError, ImportLimits, Lookups, Lowered, Mode, ModelFile, ModelInput,
    ModelNode, ParameterSpec, Remark,
};

use crate::safetensors::{self, WeightsError};

/// A model read from ONNX. Cloning is cheap: clones share the content.
///
/// The weights are the float initializers that a node reads as a value, including running statistics and single numbers
/// that are not trained by default. Their order in `graph.initializer` is the schema order of every flat vector of
/// weights. `Constant` nodes are frozen.
#[derive(Clone)]
pub struct Model(Arc<Content>);

struct Content {
    file: ModelFile,
    parameter_count: usize,
}

impl Model {
    /// Reads ONNX bytes and keeps one copy of them.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the bytes are not an ONNX model, exceed a limit, or use something that the engine
    /// does not support.
    pub fn from_onnx(bytes: &[u8], limits: &ImportLimits) -> Result<Self, ImportError> {
        let file = ModelFile::read(bytes, limits)?;
        let parameter_count = file.parameter_count();
        Ok(Self(Arc::new(Content { file, parameter_count })))
    }

    /// Returns `true` if this build cannot read the file, but a build with the feature `complete` may be able to.
    pub fn needs_complete(bytes: &[u8], limits: &ImportLimits) -> bool {
        ModelFile::needs_complete(bytes, limits)
    }

    /// Returns the model for examples with this many features. If the file leaves the length of sequences free, the
    /// number of features determines it. Any other model is returned unchanged.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot have this length.
    pub(crate) fn for_width(&self, width: usize) -> Result<Self, ImportError> {
        Ok(match self.0.file.for_width(width)? {
            None => self.clone(),
            Some(file) => Self(Arc::new(Content { file, parameter_count: self.0.parameter_count })),
        })
    }

    /// Returns whether both are one model with the same length of sequences.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the trainable tensors in schema order.
    pub fn parameters(&self) -> &[ParameterSpec] {
        self.0.file.parameters()
    }

    /// Returns the total number of elements of all trainable tensors.
    pub fn parameter_count(&self) -> usize {
        self.0.parameter_count
    }

    /// Returns the weights in the ONNX file: all trainable tensors, row-major, one after another in schema order.
    pub fn initial_weights(&self) -> Vec<f32> {
        self.0.file.initial_weights()
    }

    /// Returns the inputs in the order of the file. If there are several, they are columns of the features in this order.
    pub fn inputs(&self) -> &[ModelInput] {
        self.0.file.inputs()
    }

    /// Returns the dimensions of one example's features, without the batch dimension: those of the only input, or the
    /// number of columns of all inputs.
    pub fn input_shape(&self) -> &[usize] {
        self.0.file.input_shape()
    }

    /// Returns the dimensions of the output for one example, without the batch dimension.
    pub fn output_shape(&self) -> &[usize] {
        self.0.file.output_shape()
    }

    /// Returns a copy of the ONNX file with these weights, given flat in schema order. Nothing else changes.
    ///
    /// # Errors
    /// Returns an [`ExportError`] if the number of weights is wrong or a weight is not finite.
    pub fn export_onnx(&self, weights: &[f32]) -> Result<Vec<u8>, ExportError> {
        self.0.file.export_onnx(weights)
    }

    /// Reads the weights from a safetensors file, which has one float32 tensor for each parameter, with the parameter's
    /// name.
    ///
    /// # Errors
    /// Returns a [`WeightsError`] that names the tensor if one is missing, unknown, not finite, or of another shape or
    /// type.
    pub fn weights_from_safetensors(&self, bytes: &[u8]) -> Result<Vec<f32>, WeightsError> {
        safetensors::read(self.parameters(), bytes)
    }

    /// Returns a safetensors file with these weights, given flat in schema order.
    ///
    /// # Errors
    /// Returns [`WeightsError::WrongLength`] if the number of weights is wrong.
    pub fn weights_to_safetensors(&self, weights: &[f32]) -> Result<Vec<u8>, WeightsError> {
        safetensors::write(self.parameters(), weights)
    }

    /// Returns the ONNX operators of the file, with the number of nodes for each.
    pub fn operators(&self) -> BTreeMap<String, usize> {
        self.0.file.operators()
    }

    /// Returns the nodes of the file's graph, in file order.
    pub fn nodes(&self) -> Vec<ModelNode> {
        self.0.file.nodes()
    }

    /// Returns the engine's decisions about tensors for which the file does not tell what its author wants.
    pub fn remarks(&self) -> &[Remark] {
        self.0.file.remarks()
    }

    /// Returns the function at the end of the model, if some losses contain it.
    pub fn final_activation(&self) -> Option<FinalActivation> {
        self.0.file.final_activation()
    }

    /// Returns the features by which the model looks up rows of tables, such as token ids.
    pub fn lookups(&self) -> &Lookups {
        self.0.file.lookups()
    }

    /// Returns for each batch normalisation its scale, bias, running mean and running variance, as parameter indices.
    pub(crate) fn normalizations(&self) -> Vec<[Option<usize>; 4]> {
        self.0.file.normalizations()
    }

    /// Returns the range of each parameter in a flat vector of weights.
    pub(crate) fn parameter_ranges(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let ranges = self.parameters().iter().map(|spec| {
            let range = start..start + spec.element_count();
            start = range.end;
            range
        });
        ranges.collect()
    }

    /// Lowers the model to the graph for this batch size.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot have this batch size or would exceed a limit.
    pub(crate) fn lower(&self, batch: usize, mode: Mode) -> Result<Lowered, ImportError> {
        self.0.file.lower(batch, mode)
    }

    /// Lowers the model for training with these frozen parameters; see [`ModelFile::lower_frozen`].
    ///
    /// # Errors
    /// Returns the errors of [`Model::lower`].
    pub(crate) fn lower_frozen(&self, batch: usize, frozen: &[bool]) -> Result<Lowered, ImportError> {
        self.0.file.lower_frozen(batch, Mode::Training, frozen)
    }
}

/// Prints the parameters but not the weights, which may take hundreds of megabytes.
impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("parameters", &self.parameters()).finish_non_exhaustive()
    }
}
