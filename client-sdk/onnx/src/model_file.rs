//! A model file: its input, its trainable tensors, and the bytes into which weights are written.

use std::collections::BTreeMap;
use std::fmt;

use prost::bytes::Bytes;

use super::import::{FinalActivation, Imported, ModelNode, import, needs_complete};
use super::locate::elements;
use super::{ExportError, FileError, ImportError, ImportLimits, Lowered, Mode, prepare, with_weights};
use crate::inputs::{self, ModelInput};
use crate::lookup::Lookups;
use crate::outputs::ModelOutput;
use crate::parameter::ParameterSpec;
use crate::weights::Remark;

/// A trainable ONNX file.
pub struct ModelFile {
    bytes: Bytes,
    imported: Imported,
}

impl ModelFile {
    /// Reads ONNX bytes and keeps one copy of them. Weights of half or double precision become float32 in the copy. If an
    /// exporter merged tensors that were equal, the copy has one for each layer; see [`ModelFile::remarks`].
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the bytes are not an ONNX model, exceed a limit, or use something unsupported.
    pub fn read(bytes: &[u8], limits: &ImportLimits) -> Result<Self, ImportError> {
        if bytes.len() > limits.model_bytes_max {
            return Err(ImportError::File(FileError::ModelTooLarge {
                bytes: bytes.len(),
                limit: limits.model_bytes_max,
            }));
        }
        let (bytes, remarks) = prepare::file(Bytes::copy_from_slice(bytes), limits)?;
        // The separate tensors were checked against the limit on parameters.
        let limits =
            ImportLimits { model_bytes_max: limits.model_bytes_max.max(bytes.len()), ..limits.clone() };
        let mut imported = import(&bytes, &limits, &inputs::LENGTHS_ASSUMED)?;
        imported.remarks.splice(..0, remarks);
        Ok(Self { bytes, imported })
    }

    /// Returns the model for examples with this many features, if its inputs have a free length of sequences: the
    /// number of features determines it. Returns `None` if the model already has this width, or if no length gives it.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot have this length or would exceed a limit.
    pub fn for_width(&self, width: usize) -> Result<Option<Self>, ImportError> {
        let inputs = &self.imported.inputs;
        if inputs::IS_SMALL || inputs.iter().map(ModelInput::width).sum::<usize>() == width {
            return Ok(None);
        }
        let Some(length) = inputs::length_for(inputs, width) else { return Ok(None) };
        let mut imported = import(&self.bytes, &self.imported.limits, &[length])?;
        imported.remarks.clone_from(&self.imported.remarks);
        Ok(Some(Self { bytes: self.bytes.clone(), imported }))
    }

    /// Returns `true` if this build cannot read the file, but a build with the feature `complete` may be able to.
    pub fn needs_complete(bytes: &[u8], limits: &ImportLimits) -> bool {
        needs_complete(bytes, limits)
    }

    /// Returns the trainable tensors in schema order.
    pub fn parameters(&self) -> &[ParameterSpec] {
        &self.imported.parameters
    }

    /// Returns the total number of elements of all trainable tensors.
    pub fn parameter_count(&self) -> usize {
        self.parameters().iter().map(ParameterSpec::element_count).sum()
    }

    /// Returns the weights in the file: all trainable tensors, row-major, one after another in schema order.
    pub fn initial_weights(&self) -> Vec<f32> {
        let mut weights = Vec::with_capacity(self.parameter_count());
        for chunks in &self.imported.places {
            weights.extend(elements(&self.bytes, chunks));
        }
        weights
    }

    /// Returns the dimensions of one example's features, without the batch dimension. If the model has several inputs,
    /// it is the number of columns of all inputs.
    pub fn input_shape(&self) -> &[usize] {
        &self.imported.input_shape
    }

    /// Returns the inputs in the order of the file. If there are several, they are columns of the features in this order.
    pub fn inputs(&self) -> &[ModelInput] {
        &self.imported.inputs
    }

    /// Returns the outputs in the order of the file.
    pub fn outputs(&self) -> &[ModelOutput] {
        &self.imported.outputs
    }

    /// Returns the output that is trained if a plan chooses none: the first that can be.
    pub fn first_output(&self) -> &ModelOutput {
        &self.imported.outputs[self.imported.first_output]
    }

    /// Returns the dimensions of the first output for one example, without the batch dimension.
    pub fn output_shape(&self) -> &[usize] {
        &self.first_output().shape
    }

    /// Returns a tensor from which a loss can be computed: an output of the file, or a value inside of its graph.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the file has no such value, or no loss can be computed from it.
    #[cfg(feature = "complete")]
    pub fn output(&self, name: &str) -> Result<ModelOutput, ImportError> {
        self.imported.output(name)
    }

    /// Returns the values inside of the graph from which a loss could be computed: floats that begin with the batch, in the order of the
    /// file, each with the operator that computes it.
    ///
    /// # Errors
    /// Returns the errors of [`ModelFile::lower`].
    #[cfg(feature = "complete")]
    pub fn inner_values(&self) -> Result<Vec<(String, ModelOutput)>, ImportError> {
        self.imported.inner_values()
    }

    /// Returns a copy of the file with these weights, given flat in schema order. Nothing else changes, except that
    /// each layer has its own copy of a tensor that an exporter merged.
    ///
    /// # Errors
    /// Returns an [`ExportError`] if the number of weights is wrong or a weight is not finite.
    pub fn export_onnx(&self, weights: &[f32]) -> Result<Vec<u8>, ExportError> {
        with_weights(&self.bytes, &self.imported.places, weights)
    }

    /// Returns the importer's decisions about tensors for which the file does not tell what its author wants.
    pub fn remarks(&self) -> &[Remark] {
        &self.imported.remarks
    }

    /// Returns for each batch normalisation the parameters that are its scale, its bias, and its running mean and
    /// variance, by index. `None` stands for a tensor that is not a parameter.
    pub fn normalizations(&self) -> Vec<[Option<usize>; 4]> {
        self.imported.normalizations()
    }

    /// Returns the function that computes an output, if some losses contain it, and the name of its input.
    pub fn final_activation(&self, output: &str) -> Option<(FinalActivation, &str)> {
        self.imported.final_activation(output)
    }

    /// Returns the features by which the model looks up rows of tables, such as token ids.
    pub fn lookups(&self) -> &Lookups {
        &self.imported.lookups
    }

    /// Returns the ONNX operators of the file, with the number of nodes for each.
    pub fn operators(&self) -> BTreeMap<String, usize> {
        self.imported.operators()
    }

    /// Returns the nodes of the file's graph, in file order.
    pub fn nodes(&self) -> Vec<ModelNode> {
        self.imported.nodes()
    }

    /// Lowers the model to the graph for this batch size and the first output.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot have this batch size or would exceed a limit.
    pub fn lower(&self, batch: usize, mode: Mode) -> Result<Lowered, ImportError> {
        self.lower_frozen(batch, mode, &[], &self.first_output().name)
    }

    /// Lowers the model to the graph for this batch size and this output. `frozen` has an entry for each parameter, which
    /// is true if the parameter never changes. A batch normalisation with frozen running statistics uses them in training
    /// too.
    ///
    /// # Errors
    /// Returns the errors of [`ModelFile::lower`].
    pub fn lower_frozen(
        &self,
        batch: usize,
        mode: Mode,
        frozen: &[bool],
        output: &str,
    ) -> Result<Lowered, ImportError> {
        self.imported.lower(batch, mode, frozen, output, None)
    }

    /// Lowers the model to the graph for training, and finds the value with this name in it, besides the output. See
    /// [`ModelFile::lower_frozen`].
    ///
    /// # Errors
    /// Returns the errors of [`ModelFile::lower`].
    pub fn lower_with_inner(
        &self,
        batch: usize,
        frozen: &[bool],
        output: &str,
        inner: &str,
    ) -> Result<Lowered, ImportError> {
        self.imported.lower(batch, Mode::Training, frozen, output, Some(inner))
    }
}

/// Prints the parameters but not the weights, which may take hundreds of megabytes.
impl fmt::Debug for ModelFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ModelFile").field("parameters", &self.parameters()).finish_non_exhaustive()
    }
}
