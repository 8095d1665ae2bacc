//! Decodes ONNX bytes to nodes and initializers, with all checks that do not need shapes.

use std::collections::BTreeSet;

use prost::Message;
use prost::bytes::Bytes;

use super::attributes::node_name;
use super::limits::{OPSET_MAX, OPSET_MIN};
use super::locate::{element_count, elements, initializer_chunks};
use super::operators;
use super::proto::{FLOAT, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use super::tensor::{self, Constant, ElementType};
use super::{Chunks, ImportError, ImportLimits};

/// A decoded model. Its nodes are in execution order and read only existing values. The operators of the nodes are not
/// checked yet.
pub(super) struct Decoded {
    pub(super) opset: i64,
    pub(super) nodes: Vec<NodeProto>,
    pub(super) initializers: Vec<Initializer>,
    /// The inputs that are not initializers.
    pub(super) inputs: Vec<ValueInfoProto>,
    /// The names of the outputs.
    pub(super) outputs: Vec<String>,
}

/// A tensor stored in the file.
pub(super) struct Initializer {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) content: Content,
}

/// The elements of an initializer.
pub(super) enum Content {
    /// The elements of a trained tensor: the chunks of the file that hold them, and into which weights are written.
    Trained(Chunks),
    /// The decoded elements of a frozen tensor.
    Frozen(Constant),
}

/// The treatment of float initializers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Floats {
    /// Float initializers that a node reads are weights.
    Trained,
    /// All float initializers are frozen.
    Frozen,
}

/// Decodes a model within limits and checks its opset, its names and its tensors.
///
/// # Errors
/// Returns an [`ImportError`] that names the fault or the exceeded limit.
pub(super) fn decode(bytes: &Bytes, limits: &ImportLimits, floats: Floats) -> Result<Decoded, ImportError> {
    if bytes.len() > limits.model_bytes_max {
        return Err(ImportError::ModelTooLarge { bytes: bytes.len(), limit: limits.model_bytes_max });
    }
    let chunks = initializer_chunks(bytes, limits)?;
    let model = ModelProto::decode(bytes.clone())
        .map_err(|error| ImportError::Malformed { reason: error.to_string() })?;
    let opset = checked_opset(&model)?;
    let proto = model.graph.unwrap_or_default();
    let initializers = initializers(&proto, bytes, chunks, limits, floats)?;

    let named: BTreeSet<&str> = proto.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    // Files of IR version 3 also list the initializers among the inputs.
    let inputs = proto.input.iter().filter(|input| !named.contains(input.name.as_str())).cloned().collect();
    let outputs = proto.output.into_iter().map(|output| output.name).collect();
    let decoded = Decoded { opset, nodes: proto.node, initializers, inputs, outputs };
    check_names(&decoded)?;
    Ok(decoded)
}

fn checked_opset(model: &ModelProto) -> Result<i64, ImportError> {
    let is_onnx = |domain: &str| domain.is_empty() || domain == "ai.onnx";
    let version =
        model.opset_import.iter().find(|opset| is_onnx(&opset.domain)).map_or(0, |opset| opset.version);
    if (OPSET_MIN..=OPSET_MAX).contains(&version) {
        return Ok(version);
    }
    Err(ImportError::UnsupportedOpset { version, min: OPSET_MIN, max: OPSET_MAX })
}

/// Reads the initializers. Their order in the file is the order of the schema.
fn initializers(
    proto: &GraphProto,
    bytes: &[u8],
    chunks: Vec<Chunks>,
    limits: &ImportLimits,
    floats: Floats,
) -> Result<Vec<Initializer>, ImportError> {
    let read: BTreeSet<&str> =
        proto.node.iter().flat_map(|node| node.input.iter().map(String::as_str)).collect();
    let trainable = operators::names_of_values(&proto.node);
    let mut initializers = Vec::new();
    let mut frozen_elements = 0;
    for (tensor, chunks) in proto.initializer.iter().zip(chunks) {
        let name = tensor.name.as_str();
        let is_float = ElementType::of(tensor.data_type).is_none_or(|kind| kind == ElementType::Float);
        let is_trained = floats == Floats::Trained && is_float && trainable.contains(name);
        let (shape, content) = if is_trained {
            let shape = parameter_shape(tensor, bytes, &chunks, limits)?;
            (shape, Content::Trained(chunks))
        } else if is_float && floats == Floats::Trained && !read.contains(name) {
            continue;
        } else {
            let constant = tensor::constant(tensor, limits)?;
            frozen_elements += constant.elements.len();
            (constant.shape.clone(), Content::Frozen(constant))
        };
        let limit = limits.constant_elements_max;
        if frozen_elements > limit {
            let what = "elements in frozen tensors";
            return Err(ImportError::TooMany { what, count: frozen_elements, limit });
        }
        initializers.push(Initializer { name: name.to_owned(), shape, content });
    }
    Ok(initializers)
}

/// Checks a trainable tensor without copying it, and returns its shape.
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

/// Checks that names are unique, and that each value is defined before it is read.
fn check_names(model: &Decoded) -> Result<(), ImportError> {
    let mut known = BTreeSet::new();
    let sources = model.inputs.iter().map(|input| &input.name);
    for name in sources.chain(model.initializers.iter().map(|initializer| &initializer.name)) {
        if !known.insert(name.as_str()) {
            return Err(ImportError::DuplicateName { name: name.clone() });
        }
    }
    // Collect all values that nodes compute, to distinguish a cycle from a missing value.
    let computed: BTreeSet<&str> =
        model.nodes.iter().flat_map(|node| node.output.iter().map(String::as_str)).collect();
    for node in &model.nodes {
        let is_missing = |name: &&String| !name.is_empty() && !known.contains(name.as_str());
        if let Some(value) = node.input.iter().find(is_missing) {
            let (node, value) = (node_name(node), value.clone());
            return Err(if computed.contains(value.as_str()) {
                ImportError::Cycle { node, value }
            } else {
                ImportError::MissingValue { reader: format!("node {node}"), value }
            });
        }
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            if !known.insert(name) {
                return Err(ImportError::DuplicateName { name: name.clone() });
            }
        }
    }
    match model.outputs.iter().find(|name| !name.is_empty() && !known.contains(name.as_str())) {
        Some(name) => {
            Err(ImportError::MissingValue { reader: "the graph's output".into(), value: name.clone() })
        }
        None => Ok(()),
    }
}
