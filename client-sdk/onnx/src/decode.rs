//! Decodes ONNX bytes to nodes and initializers, with all checks that do not need shapes.

use std::collections::BTreeSet;

use prost::Message;
use prost::bytes::Bytes;

use super::attributes::node_name;
use super::initializer::{FrozenCount, Initializer};
use super::locate::initializer_chunks;
use super::outputs::ModelOutput;
use super::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use super::weights::{Remark, weights};
use super::{FileError, ImportError, ImportLimits, prepare};

/// The oldest supported opset: since opset 7, elementwise operators broadcast as they do today.
const OPSET_MIN: i64 = 7;
/// The newest supported opset. Newer opsets may change supported operators.
const OPSET_MAX: i64 = 28;

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
    /// The outputs that are left out because they depend on unsupported operators.
    pub(super) refused_outputs: Vec<ModelOutput>,
    /// The decisions about tensors that the author may not expect.
    pub(super) remarks: Vec<Remark>,
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
        return Err(ImportError::File(FileError::ModelTooLarge {
            bytes: bytes.len(),
            limit: limits.model_bytes_max,
        }));
    }
    let mut chunks = initializer_chunks(bytes, limits)?;
    let mut model = ModelProto::decode(bytes.clone())
        .map_err(|error| ImportError::File(FileError::Malformed { reason: error.to_string() }))?;
    let opset = checked_opset(&model)?;
    prepare::linear_models(&mut model, bytes, &mut chunks)?;
    let nodes = prepare::nodes(&mut model, opset, limits)?;
    let mut proto = GraphProto { node: nodes, ..model.graph.unwrap_or_default() };
    let refused_outputs = match floats {
        Floats::Trained => prepare::outputs(&mut proto),
        Floats::Frozen => Vec::new(),
    };
    let (initializers, remarks) = match floats {
        Floats::Trained => weights(&proto, bytes, chunks, limits)?,
        Floats::Frozen => (constants(&proto, limits)?, Vec::new()),
    };

    let named: BTreeSet<&str> = proto.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    // Files up to IR version 3 list the initializers among the inputs, too. Newer files may.
    let inputs = proto.input.iter().filter(|input| !named.contains(input.name.as_str())).cloned().collect();
    let outputs = proto.output.into_iter().map(|output| output.name).collect();
    let decoded =
        Decoded { opset, nodes: proto.node, initializers, inputs, outputs, refused_outputs, remarks };
    check_names(&decoded)?;
    Ok(decoded)
}

fn checked_opset(model: &ModelProto) -> Result<i64, ImportError> {
    let is_onnx = |domain: &str| domain.is_empty() || domain == "ai.onnx";
    let mut nodes = model.graph.iter().flat_map(|graph| &graph.node);
    // A file needs no opset of ONNX itself if it has no operator of ONNX itself.
    let without = match cfg!(feature = "complete") && !nodes.any(|node| is_onnx(&node.domain)) {
        true => OPSET_MAX,
        false => 0,
    };
    let found = model.opset_import.iter().find(|opset| is_onnx(&opset.domain));
    let version = found.map_or(without, |opset| opset.version);
    if (OPSET_MIN..=OPSET_MAX).contains(&version) {
        return Ok(version);
    }
    Err(ImportError::UnsupportedOpset { version, min: OPSET_MIN, max: OPSET_MAX })
}

/// Reads all initializers as constants, in the order of the file.
fn constants(proto: &GraphProto, limits: &ImportLimits) -> Result<Vec<Initializer>, ImportError> {
    let mut count = FrozenCount::new(limits);
    proto.initializer.iter().map(|tensor| count.constant(tensor, limits)).collect()
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
