//! ONNX bytes to a graph: decoding, the checks on the whole graph, and the names of its values.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost::bytes::Bytes;

use super::attributes::node_name;
use super::limits::{OPSET_MAX, OPSET_MIN};
use super::locate::{element_count, elements, initializer_chunks};
use super::proto::{
    DimensionValue, FLOAT, GraphProto, INT64, ModelProto, NodeProto, TensorProto, ValueInfoProto,
};
use super::{Chunks, ImportError, ImportLimits, operators, tensor};
use crate::graph::{Constant, Graph, Op, ValueId};
use crate::model::ParameterSpec;

/// A model as the engine keeps it.
pub(crate) struct Imported {
    pub(crate) graph: Graph,
    pub(crate) output: ValueId,
    pub(crate) input_shape: Vec<usize>,
    pub(crate) output_shape: Vec<usize>,
    pub(crate) parameters: Vec<ParameterSpec>,
    /// Where each parameter's elements lie in the file.
    pub(crate) places: Vec<Chunks>,
}

/// What a name stands for while nodes are imported.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    /// A float tensor of the graph.
    Value(ValueId),
    /// Integers that are known now, such as the shape that `Reshape` reads.
    Integers(Vec<i64>),
}

/// Reads a model.
///
/// # Errors
/// Returns an [`ImportError`] that names what is wrong or over a limit.
pub(crate) fn import(bytes: &Bytes, limits: &ImportLimits) -> Result<Imported, ImportError> {
    if bytes.len() > limits.model_bytes_max {
        return Err(ImportError::ModelTooLarge { bytes: bytes.len(), limit: limits.model_bytes_max });
    }
    let chunks = initializer_chunks(bytes, limits)?;
    let model = ModelProto::decode(bytes.clone())
        .map_err(|error| ImportError::Malformed { reason: error.to_string() })?;
    check_opset(&model)?;
    let proto = model.graph.unwrap_or_default();

    let mut importer = Importer::new(&proto, limits);
    let input_shape = importer.bind_input(&proto)?;
    let (parameters, places) = importer.bind_initializers(&proto, bytes, chunks)?;
    for node in &proto.node {
        operators::import_node(&mut importer, node)?;
    }
    let (output, output_shape) = importer.output(&proto)?;
    Ok(Imported { graph: importer.graph, output, input_shape, output_shape, parameters, places })
}

fn check_opset(model: &ModelProto) -> Result<(), ImportError> {
    let is_onnx = |domain: &str| domain.is_empty() || domain == "ai.onnx";
    let version =
        model.opset_import.iter().find(|opset| is_onnx(&opset.domain)).map_or(0, |opset| opset.version);
    if (OPSET_MIN..=OPSET_MAX).contains(&version) {
        return Ok(());
    }
    Err(ImportError::UnsupportedOpset { version, min: OPSET_MIN, max: OPSET_MAX })
}

/// The graph under construction and the names known so far.
pub(super) struct Importer<'a> {
    pub(super) graph: Graph,
    pub(super) limits: &'a ImportLimits,
    names: BTreeMap<String, Binding>,
    /// Everything that some node computes, to tell a cycle from a missing value.
    computed: BTreeSet<&'a str>,
}

impl<'a> Importer<'a> {
    fn new(proto: &'a GraphProto, limits: &'a ImportLimits) -> Self {
        let computed = proto.node.iter().flat_map(|node| node.output.iter().map(String::as_str)).collect();
        Self { graph: Graph::default(), limits, names: BTreeMap::new(), computed }
    }

    /// Gives a name its meaning; no name has two.
    pub(super) fn bind(&mut self, name: &str, binding: Binding) -> Result<(), ImportError> {
        match self.names.insert(name.to_owned(), binding) {
            None => Ok(()),
            Some(_) => Err(ImportError::DuplicateName { name: name.to_owned() }),
        }
    }

    /// What the node's input at `position` stands for.
    pub(super) fn input(&self, node: &NodeProto, position: usize) -> Result<&Binding, ImportError> {
        let name = node.input.get(position).map_or("", String::as_str);
        if let Some(binding) = self.names.get(name) {
            return Ok(binding);
        }
        if self.computed.contains(name) {
            return Err(ImportError::Cycle { node: node_name(node), value: name.to_owned() });
        }
        Err(ImportError::MissingValue { reader: format!("node {}", node_name(node)), value: name.to_owned() })
    }

    /// Adds the node's operator to the graph and gives its output a name.
    pub(super) fn add(&mut self, node: &NodeProto, op: Op, inputs: Vec<ValueId>) -> Result<(), ImportError> {
        let at_node = |source| ImportError::Shape { node: node_name(node), source };
        let output = self.graph.add_node(op, inputs).map_err(at_node)?;
        let (elements, _) = self.graph.shape(output).volume().map_err(at_node)?;
        let limit = self.limits.tensor_elements_max;
        if elements > limit {
            let tensor = format!("the result of node {}", node_name(node));
            return Err(ImportError::TensorTooLarge { tensor, limit });
        }
        self.bind(&node.output[0], Binding::Value(output))
    }

    /// Gives the node's output the meaning of a tensor that is never trained.
    pub(super) fn add_constant(&mut self, node: &NodeProto, constant: Constant) -> Result<(), ImportError> {
        let id = self.graph.add_constant(constant);
        self.bind(&node.output[0], Binding::Value(id))
    }

    fn bind_input(&mut self, proto: &GraphProto) -> Result<Vec<usize>, ImportError> {
        let initializers: BTreeSet<&str> =
            proto.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
        // Files of IR version 3 list the initializers among the inputs too.
        let inputs: Vec<_> =
            proto.input.iter().filter(|input| !initializers.contains(input.name.as_str())).collect();
        let ([input], 1) = (&inputs[..], proto.output.len()) else {
            return Err(ImportError::InputsAndOutputs { inputs: inputs.len(), outputs: proto.output.len() });
        };
        let example_shape = example_shape(input)?;
        tensor::checked_volume(&input.name, &example_shape, self.limits)?;
        let id = self.graph.add_features(&example_shape);
        self.bind(&input.name, Binding::Value(id))?;
        Ok(example_shape)
    }

    /// A float initializer that a node reads is a parameter; the order of the file is the order of the schema.
    fn bind_initializers(
        &mut self,
        proto: &GraphProto,
        bytes: &[u8],
        chunks: Vec<Chunks>,
    ) -> Result<(Vec<ParameterSpec>, Vec<Chunks>), ImportError> {
        let read: BTreeSet<&str> =
            proto.node.iter().flat_map(|node| node.input.iter().map(String::as_str)).collect();
        let (mut parameters, mut places) = (Vec::new(), Vec::new());
        for (initializer, chunks) in proto.initializer.iter().zip(chunks) {
            if initializer.data_type == INT64 {
                let integers = tensor::integers(initializer, self.limits)?;
                self.bind(&initializer.name, Binding::Integers(integers))?;
            } else if read.contains(initializer.name.as_str()) {
                let shape = parameter_shape(initializer, bytes, &chunks, self.limits)?;
                let id = self.graph.add_parameter(&shape);
                self.bind(&initializer.name, Binding::Value(id))?;
                parameters.push(ParameterSpec { name: initializer.name.clone(), shape });
                places.push(chunks);
            }
        }
        if parameters.is_empty() { Err(ImportError::NothingToTrain) } else { Ok((parameters, places)) }
    }

    fn output(&self, proto: &GraphProto) -> Result<(ValueId, Vec<usize>), ImportError> {
        let name = &proto.output[0].name;
        let Some(Binding::Value(id)) = self.names.get(name) else {
            return Err(ImportError::MissingValue {
                reader: "the graph's output".into(),
                value: name.clone(),
            });
        };
        let shape = self.graph.shape(*id);
        match shape.example_shape() {
            Some(example_shape) => Ok((*id, example_shape)),
            None => Err(ImportError::InvalidOutput { output: name.clone(), shape: shape.to_string() }),
        }
    }
}

/// Checks a trainable tensor without copying it.
fn parameter_shape(
    initializer: &TensorProto,
    bytes: &[u8],
    chunks: &Chunks,
    limits: &ImportLimits,
) -> Result<Vec<usize>, ImportError> {
    let tensor = initializer.name.clone();
    if initializer.data_type != FLOAT {
        return Err(ImportError::UnsupportedElementType { tensor, element_type: initializer.data_type });
    }
    let (shape, expected) = tensor::dims(initializer, limits)?;
    let found = element_count(chunks);
    if found != expected {
        return Err(ImportError::WrongLength { tensor, expected, found });
    }
    tensor::expect_finite(&initializer.name, elements(bytes, chunks))?;
    Ok(shape)
}

/// The shape of one example, from an input whose first dimension is free.
fn example_shape(input: &ValueInfoProto) -> Result<Vec<usize>, ImportError> {
    let invalid =
        |reason: &str| ImportError::InvalidInput { input: input.name.clone(), reason: reason.to_owned() };
    let tensor_type = input.r#type.as_ref().and_then(|input_type| input_type.tensor_type.as_ref());
    let tensor_type = tensor_type.ok_or_else(|| invalid("is not a tensor"))?;
    if tensor_type.elem_type != FLOAT {
        return Err(invalid("is not of element type float"));
    }
    let dims = tensor_type.shape.as_ref().map(|shape| &shape.dim[..]).unwrap_or_default();
    let Some((batch, rest)) = dims.split_first() else {
        return Err(invalid("has no dimensions"));
    };
    if matches!(batch.value, Some(DimensionValue::DimValue(size)) if size > 0) {
        return Err(invalid("has a fixed batch size; export the model with a dynamic first dimension"));
    }
    let size = |dim: &super::proto::DimensionProto| match dim.value {
        Some(DimensionValue::DimValue(size)) => Ok(size),
        _ => Err(invalid("has a free dimension behind the first; only the batch may be free")),
    };
    let sizes: Vec<i64> = rest.iter().map(size).collect::<Result<_, _>>()?;
    tensor::checked_dims(&input.name, &sizes)
}
