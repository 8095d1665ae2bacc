//! The model that a plan trains: an imported graph, its parameters and the bytes that it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use folkmoot_graph::{ParameterAxes, leading_ranges, op::ShapeError};
use folkmoot_onnx::{
    ExportError, FinalActivation, ImportError, ImportLimits, Lookups, Lowered, Mode, ModelFile, ModelInput,
    ModelNode, ModelOutput, ParameterSpec, Remark,
};

use crate::safetensors::{self, WeightsError};

/// A model read from ONNX. Cloning is cheap: clones share the content.
///
/// The weights are the float initializers that a node reads as a value, including running statistics and single numbers
/// that are not trained by default. Their order in `graph.initializer` is the schema order of every flat vector of
/// weights. `Constant` nodes are frozen.
///
/// If the file has several outputs, a model has one of them: the first that can be trained, or the one that
/// [`Model::for_plan`] chooses.
#[derive(Clone)]
pub struct Model {
    content: Arc<Content>,
    output: Arc<ModelOutput>,
    /// The tensors of a narrow model; `None` for the whole one.
    narrow: Option<Arc<Narrow>>,
}

/// The tensors of a model without the last units of its hidden layers.
struct Narrow {
    ratio: f64,
    /// The axes that keep their sizes.
    fixed: ParameterAxes,
    parameters: Vec<ParameterSpec>,
    parameter_count: usize,
}

/// A value inside of a model.
#[cfg(feature = "complete")]
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct InnerValue {
    /// The name in the file.
    pub name: String,
    /// The operator that computes it.
    pub operator: String,
    /// The dimensions for one example.
    pub shape: Vec<usize>,
}

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
        let output = Arc::new(file.first_output().clone());
        Ok(Self { content: Arc::new(Content { file, parameter_count }), output, narrow: None })
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
        Ok(match self.content.file.for_width(width)? {
            None => self.clone(),
            Some(file) => {
                let parameter_count = file.parameter_count();
                #[cfg(feature = "complete")]
                let output = Arc::new(file.output(&self.output.name)?);
                #[cfg(not(feature = "complete"))]
                let output = self.output.clone();
                let content = Arc::new(Content { file, parameter_count });
                Self { content, output, narrow: self.narrow.clone() }
            }
        })
    }

    /// Returns the model with this output of the file, or with this value inside of its graph as the output.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the file has no such value, or no loss can be computed from it.
    #[cfg(feature = "complete")]
    pub fn with_output(&self, name: &str) -> Result<Self, ImportError> {
        let output = Arc::new(self.content.file.output(name)?);
        Ok(Self { content: self.content.clone(), output, narrow: self.narrow.clone() })
    }

    /// Returns whether both are one model with the same length of sequences and the same output.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let ratios = [self, other].map(|model| model.narrow.as_ref().map(|narrow| narrow.ratio));
        Arc::ptr_eq(&self.content, &other.content) && self.output == other.output && ratios[0] == ratios[1]
    }

    /// Returns the models with these shares of the units of each hidden layer, each in (0, 1]. Their tensors are the leading parts of those
    /// of the whole model, and they cannot be exported. `frozen` is true for parameters that a plan never changes. See
    /// [`folkmoot_graph::Graph::narrowed`].
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot be lowered.
    pub(crate) fn narrowed(&self, ratios: &[f64], frozen: &[bool]) -> Result<Vec<Self>, ImportError> {
        // A graph for a batch of one says less than others about which axes belong together, and so do frozen statistics.
        let lowered = |(batch, frozen)| {
            self.content.file.lower_frozen(batch, Mode::Training, frozen, &self.output.name)
        };
        let lowered: Vec<Lowered> =
            [(2, frozen), (3, &[][..]), (1, frozen)].map(lowered).into_iter().collect::<Result<_, _>>()?;
        let mut fixed = ParameterAxes::new();
        loop {
            let before = fixed.len();
            for Lowered { graph, output, updates, .. } in &lowered {
                fixed = graph.fixed_axes(&[*output], updates, &fixed);
            }
            // An axis that one graph fixes can fix more in another one.
            if fixed.len() == before {
                break;
            }
        }
        let Some(Lowered { graph, output, updates, .. }) = lowered.first() else { return Ok(Vec::new()) };
        let narrow = |(ratio, shapes): (&f64, BTreeMap<usize, Vec<usize>>)| {
            let whole = self.content.file.parameters().iter().enumerate();
            let parameters = whole.map(|(index, spec)| ParameterSpec {
                shape: shapes.get(&index).unwrap_or(&spec.shape).clone(),
                ..spec.clone()
            });
            let parameters: Vec<ParameterSpec> = parameters.collect();
            let parameter_count = parameters.iter().map(ParameterSpec::element_count).sum();
            let narrow = Narrow { ratio: *ratio, fixed: fixed.clone(), parameters, parameter_count };
            Self { narrow: Some(Arc::new(narrow)), ..self.clone() }
        };
        let shapes = graph.narrow_parameters(&[*output], updates, &fixed, ratios);
        Ok(ratios.iter().zip(shapes).map(narrow).collect())
    }

    /// Returns the weights of a narrow model, given those of the whole one: the leading part of each tensor.
    pub(crate) fn leading_weights(&self, whole: &[f32]) -> Vec<f32> {
        let mut found = Vec::with_capacity(self.parameter_count());
        let mut rest = whole;
        for (spec, part) in self.content.file.parameters().iter().zip(self.parameters()) {
            let (tensor, behind) = rest.split_at(spec.element_count());
            leading_ranges(&spec.shape, &part.shape, |range| found.extend_from_slice(&tensor[range]));
            rest = behind;
        }
        found
    }

    /// Returns the trainable tensors in schema order.
    pub fn parameters(&self) -> &[ParameterSpec] {
        self.narrow.as_ref().map_or_else(|| self.content.file.parameters(), |narrow| &narrow.parameters)
    }

    /// Returns the total number of elements of all trainable tensors.
    pub fn parameter_count(&self) -> usize {
        self.narrow.as_ref().map_or(self.content.parameter_count, |narrow| narrow.parameter_count)
    }

    /// Returns the weights in the ONNX file: all trainable tensors, row-major, one after another in schema order.
    pub fn initial_weights(&self) -> Vec<f32> {
        let whole = self.content.file.initial_weights();
        if self.narrow.is_some() { self.leading_weights(&whole) } else { whole }
    }

    /// Returns the inputs in the order of the file. If there are several, they are columns of the features in this order.
    pub fn inputs(&self) -> &[ModelInput] {
        self.content.file.inputs()
    }

    /// Returns the dimensions of one example's features, without the batch dimension. If the model has several inputs,
    /// it is the number of columns of all inputs.
    pub fn input_shape(&self) -> &[usize] {
        self.content.file.input_shape()
    }

    /// Returns the outputs of the file, in its order.
    pub fn outputs(&self) -> &[ModelOutput] {
        self.content.file.outputs()
    }

    /// Returns the name of the output that this model has.
    pub fn output_name(&self) -> &str {
        &self.output.name
    }

    /// Returns the dimensions of the output for one example, without the batch dimension.
    pub fn output_shape(&self) -> &[usize] {
        &self.output.shape
    }

    /// Returns a copy of the ONNX file with these weights, given flat in schema order. Nothing else changes.
    ///
    /// # Errors
    /// Returns an [`ExportError`] if the number of weights is wrong or a weight is not finite.
    pub fn export_onnx(&self, weights: &[f32]) -> Result<Vec<u8>, ExportError> {
        self.content.file.export_onnx(weights)
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

    /// Returns the values inside of the graph that `plan.output` and `plan.model_contrast.features` can name: floats that begin with the batch, in
    /// the order of the file, each with the operator that computes it.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot be lowered.
    #[cfg(feature = "complete")]
    pub fn inner_values(&self) -> Result<Vec<InnerValue>, ImportError> {
        let value = |(operator, ModelOutput { name, shape, .. })| InnerValue { name, operator, shape };
        Ok(self.content.file.inner_values()?.into_iter().map(value).collect())
    }

    /// Returns the ONNX operators of the file, with the number of nodes for each.
    pub fn operators(&self) -> BTreeMap<String, usize> {
        self.content.file.operators()
    }

    /// Returns the nodes of the file's graph, in file order.
    pub fn nodes(&self) -> Vec<ModelNode> {
        self.content.file.nodes()
    }

    /// Returns the engine's decisions about tensors for which the file does not tell what its author wants.
    pub fn remarks(&self) -> &[Remark] {
        self.content.file.remarks()
    }

    /// Returns the function that computes the output, if some losses contain it.
    pub fn final_activation(&self) -> Option<FinalActivation> {
        self.final_activation_of(&self.output.name).map(|(activation, _)| activation)
    }

    /// Returns the function that computes an output of the file, if some losses contain it, and the name of its input.
    pub(crate) fn final_activation_of(&self, output: &str) -> Option<(FinalActivation, &str)> {
        self.content.file.final_activation(output)
    }

    /// Returns the features by which the model looks up rows of tables, such as token ids.
    pub fn lookups(&self) -> &Lookups {
        self.content.file.lookups()
    }

    /// Returns for each batch normalisation its scale, bias, running mean and running variance, as parameter indices.
    pub(crate) fn normalizations(&self) -> Vec<[Option<usize>; 4]> {
        self.content.file.normalizations()
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
        self.lower_in(batch, mode, &[])
    }

    /// Lowers the model for training with these frozen parameters; see [`ModelFile::lower_frozen`].
    ///
    /// # Errors
    /// Returns the errors of [`Model::lower`].
    pub(crate) fn lower_frozen(&self, batch: usize, frozen: &[bool]) -> Result<Lowered, ImportError> {
        self.lower_in(batch, Mode::Training, frozen)
    }

    /// Lowers a whole model for training, and finds the value with this name in it.
    ///
    /// # Errors
    /// Returns the errors of [`Model::lower`].
    pub(crate) fn lower_with_inner(
        &self,
        batch: usize,
        frozen: &[bool],
        inner: &str,
    ) -> Result<Lowered, ImportError> {
        self.content.file.lower_with_inner(batch, frozen, &self.output.name, inner)
    }

    fn lower_in(&self, batch: usize, mode: Mode, frozen: &[bool]) -> Result<Lowered, ImportError> {
        let lowered = self.content.file.lower_frozen(batch, mode, frozen, &self.output.name)?;
        let Some(narrow) = &self.narrow else { return Ok(lowered) };
        let graph = lowered.graph.narrowed(&[lowered.output], &lowered.updates, &narrow.fixed, narrow.ratio);
        let mut differing =
            narrow.parameters.iter().enumerate().filter_map(|(index, spec)| {
                graph.parameter_shape(index).filter(|shape| *shape != spec.shape)
            });
        match differing.next() {
            None => Ok(Lowered { graph, ..lowered }),
            Some(shape) => {
                let source = ShapeError::new("a narrow model with batches of another size", &[shape]);
                Err(ImportError::Shape { node: "a parameter".to_owned(), source })
            }
        }
    }
}

/// Prints the parameters but not the weights, which may take hundreds of megabytes.
impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("parameters", &self.parameters()).finish_non_exhaustive()
    }
}
