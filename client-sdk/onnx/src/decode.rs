//! Decodes ONNX bytes to nodes and initializers, with all checks that do not need shapes.

use std::collections::BTreeSet;

use prost::Message;
use prost::bytes::Bytes;

use super::attributes::node_name;
use super::functions;
use super::limits::{OPSET_MAX, OPSET_MIN};
use super::locate::{element_count, elements, initializer_chunks};
use super::operators;
use super::parameter::ParameterKind;
use super::proto::{FLOAT, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use super::tensor::{self, Constant, ElementType};
use super::weights::{Metadata, Remark, Slot, Treatment, Uses, known_values, treatment};
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
    /// The decisions about tensors that the author may not expect.
    pub(super) remarks: Vec<Remark>,
}

/// A tensor stored in the file.
pub(super) struct Initializer {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) content: Content,
}

/// The elements of an initializer.
pub(super) enum Content {
    /// The elements of a tensor that is part of the weights: the chunks of the file that hold them, and into which
    /// weights are written. The kind is `Trained` or `Constant`.
    Trained(Chunks, ParameterKind),
    /// The decoded elements of a frozen tensor.
    Frozen(Constant),
}

/// The treatment of float initializers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Floats {
    /// Float initializers that a node reads are weights, unless they must be known at import.
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
    let mut model = ModelProto::decode(bytes.clone())
        .map_err(|error| ImportError::Malformed { reason: error.to_string() })?;
    let opset = checked_opset(&model)?;
    let nodes = functions::inlined(&mut model, opset, limits)?;
    let proto = GraphProto { node: nodes, ..model.graph.unwrap_or_default() };
    let (initializers, remarks) = match floats {
        Floats::Trained => weights(&proto, bytes, chunks, limits)?,
        Floats::Frozen => (constants(&proto, limits)?, Vec::new()),
    };

    let named: BTreeSet<&str> = proto.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    // Files of IR version 3 also list the initializers among the inputs.
    let inputs = proto.input.iter().filter(|input| !named.contains(input.name.as_str())).cloned().collect();
    let outputs = proto.output.into_iter().map(|output| output.name).collect();
    let decoded = Decoded { opset, nodes: proto.node, initializers, inputs, outputs, remarks };
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

/// Reads all initializers as constants, in the order of the file.
fn constants(proto: &GraphProto, limits: &ImportLimits) -> Result<Vec<Initializer>, ImportError> {
    let mut count = FrozenCount { elements: 0, limit: limits.constant_elements_max };
    proto.initializer.iter().map(|tensor| count.constant(tensor, limits)).collect()
}

/// Reads the initializers, of which some are weights. Their order in the file is the order of the schema.
fn weights(
    proto: &GraphProto,
    bytes: &[u8],
    chunks: Vec<Chunks>,
    limits: &ImportLimits,
) -> Result<(Vec<Initializer>, Vec<Remark>), ImportError> {
    let (uses, metadata, known) = (Uses::new(proto), Metadata::read(bytes)?, known_values(proto));
    let read = operators::names_read(&proto.node);
    let mut count = FrozenCount { elements: 0, limit: limits.constant_elements_max };
    let (mut initializers, mut remarks) = (Vec::new(), Vec::new());
    for (tensor, chunks) in proto.initializer.iter().zip(chunks) {
        let name = tensor.name.as_str();
        let is_float = ElementType::of(tensor.data_type).is_none_or(|kind| kind == ElementType::Float);
        if !is_float {
            remarks.extend(integer_weight(tensor, proto, &uses)?);
            initializers.push(count.constant(tensor, limits)?);
            continue;
        }
        if !read.contains(name) {
            continue;
        }
        let elements = tensor::volume_of(tensor, limits)?;
        let is_mask = || is_mask(bytes, &chunks);
        match treatment(tensor, elements, is_mask, &uses, &metadata, known.contains(name)) {
            Treatment::Known(remark) => {
                // Settings that no node computes with are never mistaken for weights.
                let is_obvious = uses.is_only_setting(name);
                remarks.extend(Some(remark).filter(|_| !is_obvious));
                initializers.push(count.constant(tensor, limits)?);
            }
            // A single number of another precision is a constant of the graph.
            Treatment::Constant if tensor.data_type != FLOAT => {
                initializers.push(count.constant(tensor, limits)?);
            }
            kind => {
                let shape = parameter_shape(tensor, bytes, &chunks, limits)?;
                let kind = match kind {
                    Treatment::Constant => {
                        remarks.push(Remark::OneElement { tensor: name.to_owned() });
                        ParameterKind::Constant
                    }
                    kind => {
                        let is_named = kind == Treatment::Named;
                        remarks.extend(is_named.then(|| Remark::NamedWeight { tensor: name.to_owned() }));
                        remarks.extend(uses.shared(name));
                        ParameterKind::Trained
                    }
                };
                let (name, content) = (name.to_owned(), Content::Trained(chunks, kind));
                initializers.push(Initializer { name, shape, content });
            }
        }
    }
    remarks.extend(uses.constant_weights());
    Ok((initializers, remarks))
}

/// Counts the elements of constants.
struct FrozenCount {
    elements: usize,
    limit: usize,
}

impl FrozenCount {
    fn constant(&mut self, tensor: &TensorProto, limits: &ImportLimits) -> Result<Initializer, ImportError> {
        let constant = tensor::constant(tensor, limits)?;
        self.elements += constant.elements.len();
        if self.elements > self.limit {
            let what = "elements in frozen tensors";
            return Err(ImportError::TooMany { what, count: self.elements, limit: self.limit });
        }
        let (name, shape) = (tensor.name.clone(), constant.shape.clone());
        Ok(Initializer { name, shape, content: Content::Frozen(constant) })
    }
}

/// Returns whether all elements are 0, 1 or infinite, and one is infinite.
fn is_mask(bytes: &[u8], chunks: &Chunks) -> bool {
    let mut has_infinite = false;
    let fits = elements(bytes, chunks).all(|element| {
        has_infinite |= element.is_infinite();
        element.is_infinite() || element == 0.0 || element == 1.0
    });
    fits && has_infinite
}

/// Returns a remark about an integer tensor from which a weight is computed.
///
/// # Errors
/// Returns [`ImportError::IntegerWeight`] if a layer reads the tensor itself as its weight or bias.
fn integer_weight(
    tensor: &TensorProto,
    proto: &GraphProto,
    uses: &Uses<'_>,
) -> Result<Option<Remark>, ImportError> {
    let is_weight = |slot: Slot| matches!(slot, Slot::Weight | Slot::Bias | Slot::Vector);
    if let Some(one) = uses.of(&tensor.name).iter().find(|one| is_weight(one.slot)) {
        let (tensor, node) = (tensor.name.clone(), node_name(&proto.node[one.node]));
        return Err(ImportError::IntegerWeight { tensor, node });
    }
    Ok(uses.weight_from(&tensor.name).map(|node| Remark::IntegerWeight { tensor: tensor.name.clone(), node }))
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
