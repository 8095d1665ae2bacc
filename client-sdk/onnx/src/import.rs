//! Imports ONNX bytes as a trainable model: inputs and a trained output, all with the batch as first dimension.

use std::collections::BTreeMap;

use prost::bytes::Bytes;
use serde::Serialize;

use super::attributes::operator_name;
use super::decode::{Decoded, Floats, decode};
use super::initializer::Content;
use super::inputs::{self, ModelInput};
use super::lookup::{Lookups, lookups};
use super::lowering::{Lowered, Lowering};
use super::mode::Mode;
use super::operators;
use super::outputs::{self, ModelOutput, Obstacle};
use super::proto::NodeProto;
use super::tensor::{self, ElementType};
use super::weights::Remark;
use super::{Chunks, FileError, ImportError, ImportLimits};
use crate::parameter::{ParameterKind, ParameterSpec};

/// A node of the graph that an ONNX file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelNode {
    /// The node's name, often empty.
    pub name: String,
    /// The operator, with its domain unless that is ONNX's own.
    pub operator: String,
    /// The names of the tensors that the node reads.
    pub inputs: Vec<String>,
    /// The names of the tensors that the node computes.
    pub outputs: Vec<String>,
}

/// A function at the end of a model that some losses contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalActivation {
    /// `Softmax`.
    Softmax,
    /// `Sigmoid`.
    Sigmoid,
}

/// An imported model, before it is lowered to a graph for a batch size.
pub(crate) struct Imported {
    pub(crate) input_shape: Vec<usize>,
    /// The outputs of the file.
    pub(crate) outputs: Vec<ModelOutput>,
    /// The position of the output that is trained if a plan chooses none.
    pub(crate) first_output: usize,
    pub(crate) parameters: Vec<ParameterSpec>,
    /// The chunks of the file that hold each parameter's elements.
    pub(crate) places: Vec<Chunks>,
    /// The decisions about the file's tensors that its author may not expect.
    pub(crate) remarks: Vec<Remark>,
    /// The features by which the model looks up rows of tables.
    pub(crate) lookups: Lookups,
    pub(crate) inputs: Vec<ModelInput>,
    model: Decoded,
    pub(crate) limits: ImportLimits,
}

/// Imports a model. `lengths` are candidates for the length of sequences if the file leaves it free. The first one that
/// the model supports is used.
///
/// Lowers the model for two batch sizes and both modes. This detects unsupported models at import time, and determines
/// the output's shape.
///
/// # Errors
/// Returns an [`ImportError`] that names the fault or the exceeded limit.
pub(crate) fn import(
    bytes: &Bytes,
    limits: &ImportLimits,
    lengths: &[usize],
) -> Result<Imported, ImportError> {
    let mut model = decode(bytes, limits, Floats::Trained)?;
    let unsupported = operators::unsupported(&model.nodes);
    if !unsupported.is_empty() {
        return Err(ImportError::UnsupportedOperators { operators: unsupported });
    }
    inputs::check(&model)?;
    let (parameters, places) = parameters(&model);
    if parameters.is_empty() {
        return Err(ImportError::NothingToTrain);
    }
    let (count, limit) = (parameters.iter().map(ParameterSpec::element_count).sum(), limits.parameters_max);
    if count > limit {
        return Err(ImportError::File(FileError::TooMany { what: "parameters", count, limit }));
    }
    let remarks = std::mem::take(&mut model.remarks);
    let mut imported = Imported {
        inputs: Vec::new(),
        input_shape: Vec::new(),
        outputs: Vec::new(),
        first_output: 0,
        parameters,
        places,
        remarks,
        lookups: Lookups::default(),
        model,
        limits: limits.clone(),
    };
    if inputs::IS_SMALL {
        return imported.read_shapes(0).map(|()| imported);
    }
    let mut refusal = None;
    for length in lengths {
        match imported.read_shapes(*length) {
            Err(error) if imported.inputs.iter().any(|input| input.length_axis.is_some()) => {
                refusal.get_or_insert(error);
            }
            read => return read.map(|()| imported),
        }
    }
    Err(inputs::without_length(&imported.inputs, lengths, refusal))
}

/// Returns whether the file has operators or tensors that only the complete importer reads, and this is the small one.
#[cfg(not(feature = "complete"))]
pub(crate) fn needs_complete(bytes: &[u8], limits: &ImportLimits) -> bool {
    match decode(&Bytes::copy_from_slice(bytes), limits, Floats::Trained) {
        Ok(model) => !inputs::is_obvious(&model) || !operators::unsupported(&model.nodes).is_empty(),
        Err(error) => matches!(error, ImportError::NotObvious { .. }),
    }
}

/// The complete importer reads whatever can be read.
#[cfg(feature = "complete")]
pub(crate) fn needs_complete(_: &[u8], _: &ImportLimits) -> bool {
    false
}

impl Imported {
    /// Determines the shapes of inputs and output, and the fields that depend on them. `length` is the length of
    /// sequences.
    fn read_shapes(&mut self, length: usize) -> Result<(), ImportError> {
        self.inputs = inputs::inputs(&self.model, &self.limits, length)?;
        self.input_shape = inputs::features(&self.inputs);
        tensor::checked_volume("the input", &self.input_shape, &self.limits)?;
        let trained = self.lowering(2, Mode::Training, &[])?;
        let used = self.lowering(3, Mode::Inference, &[])?;
        let of_name = |name: &String| output_of(name, &trained, &used);
        let outputs: Vec<ModelOutput> = self.model.outputs.iter().map(of_name).collect::<Result<_, _>>()?;
        let statistics: Vec<usize> = trained.updates.iter().map(|(parameter, _)| *parameter).collect();
        let lookups = lookups(&used.graph, self.input_shape.iter().product());
        self.first_output = outputs::first(&outputs)?;
        self.outputs = outputs;
        self.outputs.extend(self.model.refused_outputs.iter().cloned());
        for parameter in statistics {
            self.parameters[parameter].kind = ParameterKind::Statistic;
        }
        self.lookups = lookups;
        Ok(())
    }

    /// Returns a tensor from which a loss can be computed: an output of the file, or a value inside of its graph.
    ///
    /// # Errors
    /// Returns [`ImportError::NoSuchOutput`] if there is no value of this name, and [`ImportError::UntrainedOutput`] if no
    /// loss can be computed from it.
    #[cfg(feature = "complete")]
    pub(crate) fn output(&self, name: &str) -> Result<ModelOutput, ImportError> {
        let output = match self.outputs.iter().find(|output| output.name == name) {
            Some(output) => output.clone(),
            None => self.inner_value(name)?,
        };
        match output.obstacle {
            Some(obstacle) => {
                Err(ImportError::UntrainedOutput { output: output.name, reason: obstacle.to_string() })
            }
            None => Ok(output),
        }
    }

    /// Returns a value that a node computes, such as the input of a final softmax.
    #[cfg(feature = "complete")]
    fn inner_value(&self, name: &str) -> Result<ModelOutput, ImportError> {
        let computed = self.model.nodes.iter().flat_map(|node| &node.output);
        if !computed.into_iter().any(|output| output == name) {
            return Err(self.no_such_output(name));
        }
        let trained = self.lowering(2, Mode::Training, &[])?;
        output_of(name, &trained, &self.lowering(3, Mode::Inference, &[])?)
    }

    /// Returns the values inside of the graph from which a loss could be computed: floats that begin with the batch, in the order of the
    /// file, each with the operator that computes it.
    #[cfg(feature = "complete")]
    pub(crate) fn inner_values(&self) -> Result<Vec<(String, ModelOutput)>, ImportError> {
        let (two, three) = (self.lowering(2, Mode::Training, &[])?, self.lowering(3, Mode::Inference, &[])?);
        let computed = self.model.nodes.iter().flat_map(|node| {
            node.output
                .iter()
                .filter_map(|name| Some((operator_name(node), output_of(name, &two, &three).ok()?)))
        });
        Ok(computed.filter(|(_, value)| value.obstacle.is_none()).collect())
    }

    #[cfg(feature = "complete")]
    fn no_such_output(&self, name: &str) -> ImportError {
        let outputs = self.outputs.iter().map(|output| output.name.as_str());
        ImportError::NoSuchOutput { output: name.to_owned(), outputs: outputs.collect::<Vec<_>>().join(", ") }
    }

    /// Returns the operators of the file, with the number of nodes for each.
    pub(crate) fn operators(&self) -> BTreeMap<String, usize> {
        let mut operators = BTreeMap::new();
        for node in &self.model.nodes {
            *operators.entry(operator_name(node)).or_default() += 1;
        }
        operators
    }

    /// Returns the nodes of the file's graph, in file order.
    pub(crate) fn nodes(&self) -> Vec<ModelNode> {
        let node = |node: &NodeProto| ModelNode {
            name: node.name.clone(),
            operator: operator_name(node),
            inputs: node.input.clone(),
            outputs: node.output.clone(),
        };
        self.model.nodes.iter().map(node).collect()
    }

    /// Returns for each batch normalisation the parameters that are its scale, its bias, and its running mean and
    /// variance, by index. `None` stands for a tensor that is not a parameter.
    pub(crate) fn normalizations(&self) -> Vec<[Option<usize>; 4]> {
        let parameters = self.parameters.iter().enumerate();
        let mut positions: BTreeMap<&str, usize> =
            parameters.map(|(index, parameter)| (parameter.name.as_str(), index)).collect();
        let of_onnx = || self.model.nodes.iter().filter(|node| operators::is_of_onnx(node));
        for node in of_onnx().filter(|node| node.op_type == "Identity") {
            if let ([input], [output]) = (&node.input[..], &node.output[..])
                && let Some(index) = positions.get(input.as_str()).copied()
            {
                positions.insert(output, index);
            }
        }
        let nodes = of_onnx().filter(|node| node.op_type == "BatchNormalization");
        let tensors = |node: &NodeProto| {
            [1, 2, 3, 4].map(|input| positions.get(node.input.get(input)?.as_str()).copied())
        };
        nodes.map(tensors).collect()
    }

    /// Returns the function that computes an output, if some losses contain it, and the name of its input.
    pub(crate) fn final_activation(&self, output: &str) -> Option<(FinalActivation, &str)> {
        let mut name = output;
        for node in self.model.nodes.iter().rev() {
            if node.output.first().is_none_or(|output| output != name) {
                continue;
            }
            match node.op_type.as_str() {
                "Softmax" => return Some((FinalActivation::Softmax, node.input.first()?)),
                "Sigmoid" => return Some((FinalActivation::Sigmoid, node.input.first()?)),
                // Converters of classifiers normalize probabilities, and name them.
                "Normalizer" | "ZipMap" | "Cast" | "Flatten" | "Identity" | "Reshape" | "Squeeze"
                | "Transpose" | "Unsqueeze" => {
                    name = node.input.first()?;
                }
                // Converters of binary classifiers write `[1 - p, p]`.
                "Concat" => name = node.input.last()?,
                _ => return None,
            }
        }
        None
    }

    /// Lowers the model to the graph for this batch size and this output. `frozen` has an entry for each parameter, which
    /// is true if the parameter never changes. A parameter without an entry may change.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot have this batch size or would exceed a limit.
    pub(crate) fn lower(
        &self,
        batch: usize,
        mode: Mode,
        frozen: &[bool],
        output: &str,
        inner: Option<&str>,
    ) -> Result<Lowered, ImportError> {
        let lowering = self.lowering(batch, mode, frozen)?;
        let value = |name: &str| {
            lowering.tensor(name).map(|tensor| tensor.value).ok_or_else(|| ImportError::MissingValue {
                reader: "the graph's output".into(),
                value: name.to_owned(),
            })
        };
        let (output, inner) = (value(output)?, inner.map(value).transpose()?);
        Ok(Lowered { graph: lowering.graph, output, inner, updates: lowering.updates })
    }

    fn lowering<'a>(
        &'a self,
        batch: usize,
        mode: Mode,
        frozen: &'a [bool],
    ) -> Result<Lowering<'a>, ImportError> {
        let mut lowering = Lowering::new(self.model.opset, &self.limits, mode, frozen);
        inputs::add(&mut lowering, &self.model, &self.inputs, batch)?;
        lowering.add_model(&self.model)?;
        Ok(lowering)
    }
}

fn parameters(model: &Decoded) -> (Vec<ParameterSpec>, Vec<Chunks>) {
    let trained = model.initializers.iter().filter_map(|initializer| match &initializer.content {
        Content::Trained(chunks, kind) => {
            let (name, shape) = (initializer.name.clone(), initializer.shape.clone());
            Some((ParameterSpec { name, shape, kind: *kind }, chunks.clone()))
        }
        Content::Frozen(_) => None,
    });
    trained.unzip()
}

/// Returns the tensor with this name. `two` and `three` are the model for batches of 2 and 3 examples.
///
/// # Errors
/// Returns [`ImportError::MissingValue`] if the model has no such tensor.
fn output_of(name: &str, two: &Lowering<'_>, three: &Lowering<'_>) -> Result<ModelOutput, ImportError> {
    let (Some(in_two), Some(in_three)) = (two.tensor(name), three.tensor(name)) else {
        let reader = "the graph's output".into();
        return Err(ImportError::MissingValue { reader, value: name.to_owned() });
    };
    let (shape, obstacle) = match [two.graph.shape(in_two.value), three.graph.shape(in_three.value)] {
        [[2, rest @ ..], [3, others @ ..]] if rest == others => {
            let is_float = in_two.element_type == ElementType::Float;
            (rest.to_vec(), (!is_float).then_some(Obstacle::Integers))
        }
        [shape, _] => (Vec::new(), Some(Obstacle::Shape(shape.to_vec()))),
    };
    Ok(ModelOutput { name: name.to_owned(), shape, obstacle })
}
