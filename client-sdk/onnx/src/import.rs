//! Imports ONNX bytes as a trainable model: one input and a trained output, both with the batch as first dimension.

use std::collections::BTreeMap;

use prost::bytes::Bytes;
use serde::Serialize;

use super::attributes::operator_name;
use super::decode::{Decoded, Floats, decode};
use super::initializer::Content;
use super::lookup::{Lookups, lookups};
use super::lowering::{Lowered, Lowering};
use super::mode::Mode;
use super::operators;
use super::proto::{DimensionProto, DimensionValue, NodeProto, ValueInfoProto};
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
    pub(crate) output_shape: Vec<usize>,
    pub(crate) parameters: Vec<ParameterSpec>,
    /// The chunks of the file that hold each parameter's elements.
    pub(crate) places: Vec<Chunks>,
    /// The decisions about the file's tensors that its author may not expect.
    pub(crate) remarks: Vec<Remark>,
    /// The features by which the model looks up rows of tables.
    pub(crate) lookups: Lookups,
    input_type: ElementType,
    model: Decoded,
    limits: ImportLimits,
}

/// Imports a model.
///
/// Lowers the model for two batch sizes and both modes. This detects unsupported models at import time, and determines
/// the output's shape.
///
/// # Errors
/// Returns an [`ImportError`] that names the fault or the exceeded limit.
pub(crate) fn import(bytes: &Bytes, limits: &ImportLimits) -> Result<Imported, ImportError> {
    let mut model = decode(bytes, limits, Floats::Trained)?;
    let unsupported = operators::unsupported(&model.nodes);
    if !unsupported.is_empty() {
        return Err(ImportError::UnsupportedOperators { operators: unsupported });
    }
    let [input] = &model.inputs[..] else {
        return Err(inputs_and_outputs(&model));
    };
    if model.outputs.is_empty() {
        return Err(inputs_and_outputs(&model));
    }
    let (input_shape, input_type) = example(input)?;
    tensor::checked_volume(&input.name, &input_shape, limits)?;
    let (parameters, places) = parameters(&model);
    if parameters.is_empty() {
        return Err(ImportError::NothingToTrain);
    }
    let (count, limit) = (parameters.iter().map(ParameterSpec::element_count).sum(), limits.parameters_max);
    if count > limit {
        return Err(ImportError::File(FileError::TooMany { what: "parameters", count, limit }));
    }
    let (output_shape, limits, remarks) = (Vec::new(), limits.clone(), std::mem::take(&mut model.remarks));
    let mut imported = Imported {
        input_shape,
        output_shape,
        parameters,
        places,
        remarks,
        lookups: Lookups::default(),
        input_type,
        model,
        limits,
    };

    let [trained, used] = [imported.lower(2, Mode::Training, &[])?, imported.lower(3, Mode::Inference, &[])?];
    for (parameter, _) in &trained.updates {
        imported.parameters[*parameter].kind = ParameterKind::Statistic;
    }
    imported.lookups = lookups(&used.graph, imported.input_shape.iter().product());
    let shapes = [&trained, &used].map(|lowered| lowered.graph.shape(lowered.output));
    imported.output_shape = match shapes {
        [[2, rest @ ..], [3, others @ ..]] if rest == others => rest.to_vec(),
        [shape, _] => {
            let (output, shape) = (imported.model.outputs[0].clone(), format!("{shape:?}"));
            return Err(ImportError::InvalidOutput { output, shape });
        }
    };
    Ok(imported)
}

/// Returns whether the file has operators or tensors that only the complete importer reads, and this is the small one.
#[cfg(not(feature = "complete"))]
pub(crate) fn needs_complete(bytes: &[u8], limits: &ImportLimits) -> bool {
    match decode(&Bytes::copy_from_slice(bytes), limits, Floats::Trained) {
        Ok(model) => !operators::unsupported(&model.nodes).is_empty(),
        Err(error) => matches!(error, ImportError::NotObvious { .. }),
    }
}

/// The complete importer reads whatever can be read.
#[cfg(feature = "complete")]
pub(crate) fn needs_complete(_: &[u8], _: &ImportLimits) -> bool {
    false
}

impl Imported {
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

    /// Returns the function at the end of the model, if some losses contain it.
    pub(crate) fn final_activation(&self) -> Option<FinalActivation> {
        let mut name = &self.model.outputs[0];
        for node in self.model.nodes.iter().rev().filter(|node| operators::is_of_onnx(node)) {
            if node.output.first().is_none_or(|output| output != name) {
                continue;
            }
            match node.op_type.as_str() {
                "Softmax" => return Some(FinalActivation::Softmax),
                "Sigmoid" => return Some(FinalActivation::Sigmoid),
                "Cast" | "Flatten" | "Identity" | "Reshape" | "Squeeze" | "Transpose" | "Unsqueeze" => {
                    name = node.input.first()?;
                }
                _ => return None,
            }
        }
        None
    }

    /// Lowers the model to the graph for this batch size. `frozen` says for each parameter whether it never changes;
    /// without an entry, it may change.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the model cannot have this batch size or would exceed a limit.
    pub(crate) fn lower(&self, batch: usize, mode: Mode, frozen: &[bool]) -> Result<Lowered, ImportError> {
        let mut lowering = Lowering::new(self.model.opset, &self.limits, mode, frozen);
        let name = &self.model.inputs[0].name;
        let shape = [&[batch], &self.input_shape[..]].concat();
        lowering.add_input(name, &shape, self.input_type)?;
        lowering.add_model(&self.model)?;
        let name = &self.model.outputs[0];
        let output = lowering.tensor(name).map(|tensor| tensor.value).ok_or_else(|| {
            ImportError::MissingValue { reader: "the graph's output".into(), value: name.clone() }
        })?;
        Ok(Lowered { graph: lowering.graph, output, updates: lowering.updates })
    }
}

fn inputs_and_outputs(model: &Decoded) -> ImportError {
    ImportError::InputsAndOutputs { inputs: model.inputs.len(), outputs: model.outputs.len() }
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

/// Returns the shape and the element type of one example, from an input whose first dimension is free.
fn example(input: &ValueInfoProto) -> Result<(Vec<usize>, ElementType), ImportError> {
    let invalid =
        |reason: &str| ImportError::InvalidInput { input: input.name.clone(), reason: reason.to_owned() };
    let tensor_type = input.r#type.as_ref().and_then(|input_type| input_type.tensor_type.as_ref());
    let tensor_type = tensor_type.ok_or_else(|| invalid("is not a tensor"))?;
    let element_type = match ElementType::of(tensor_type.elem_type) {
        Some(element_type) if element_type != ElementType::Boolean => element_type,
        _ => return Err(invalid("has an element type that is neither float nor integer")),
    };
    let dims = tensor_type.shape.as_ref().map(|shape| &shape.dim[..]).unwrap_or_default();
    let Some((batch, rest)) = dims.split_first() else {
        return Err(invalid("has no dimensions"));
    };
    if matches!(batch.value, Some(DimensionValue::DimValue(size)) if size > 0) {
        return Err(invalid(
            "has a fixed batch size; export the model with a dynamic first dimension: torch.onnx.export(..., \
             dynamic_shapes=({0: torch.export.Dim(\"batch\")},)), or dynamic_axes={\"input\": {0: \"batch\"}} with the \
             older exporter",
        ));
    }
    let size = |dim: &DimensionProto| match dim.value {
        Some(DimensionValue::DimValue(size)) => Ok(size),
        _ => Err(invalid(
            "has a free dimension after the first; only the batch may be free: export with examples of one length, and \
             name only dimension 0 in dynamic_shapes or dynamic_axes",
        )),
    };
    let sizes: Vec<i64> = rest.iter().map(size).collect::<Result<_, _>>()?;
    Ok((tensor::checked_dims(&input.name, &sizes)?, element_type))
}
