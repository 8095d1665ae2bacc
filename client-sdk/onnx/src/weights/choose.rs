//! Chooses the weights among the initializers of any file.

use std::collections::{BTreeMap, BTreeSet};

use super::copied::copied;
use super::normalization::{merged, neutral, running_statistics};
use super::positions::positions;
use super::removed::removed_tensors;
use super::slot::by_operator;
use super::{Metadata, Remark, Slot, Uses, known_values};
use crate::attributes::node_name;
use crate::initializer::{Content, FrozenCount, Initializer, parameter_shape};
use crate::locate::elements;
use crate::operators;
use crate::parameter::ParameterKind;
use crate::proto::{FLOAT, GraphProto, TensorProto};
use crate::tensor::{self, ElementType};
use crate::{Chunks, ImportError, ImportLimits};

/// Reads the initializers, and decides which of them are weights. Their order in the file is the order of the schema.
/// The remarks report decisions that the model's author may not expect.
///
/// # Errors
/// Returns an [`ImportError`] for a malformed tensor, an exceeded limit, or a weight that cannot be trained.
pub(crate) fn weights(
    proto: &GraphProto,
    bytes: &[u8],
    chunks: Vec<Chunks>,
    limits: &ImportLimits,
) -> Result<(Vec<Initializer>, Vec<Remark>), ImportError> {
    let (uses, metadata, known) = (Uses::new(proto), Metadata::read(bytes)?, known_values(proto));
    let read = operators::names_read(&proto.node);
    let is_of_no_layer = |name: &str| {
        uses.of(name).iter().all(|one| !by_operator(uses.node(one.node), one.position).is_of_layer())
    };
    let tables = match metadata.is_explicit {
        true => BTreeSet::new(),
        false => positions(proto, bytes, &chunks, is_of_no_layer),
    };
    let said = match metadata.is_explicit {
        true => Vec::new(),
        false => of_exporters(proto, bytes, &chunks, &uses),
    };
    let mut count = FrozenCount::new(limits);
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
        let neutral = neutral(&uses, name)
            .filter(|one| !metadata.is_explicit && all_are(one.element, bytes, &chunks))
            .map(|one| Remark::Neutral { tensor: name.to_owned(), node: one.node });
        let kind = match neutral {
            _ if known.contains(name) => Treatment::Known(Remark::Setting { tensor: name.to_owned() }),
            _ if tables.contains(name) => Treatment::Constant(Remark::Positions { tensor: name.to_owned() }),
            Some(remark) => Treatment::Constant(remark),
            None => treatment(tensor, elements, is_mask, &uses, &metadata),
        };
        match kind {
            Treatment::Known(remark) => {
                // Settings that no node computes with are never mistaken for weights.
                let is_obvious = uses.is_only_setting(name);
                remarks.extend(Some(remark).filter(|_| !is_obvious));
                initializers.push(count.constant(tensor, limits)?);
            }
            // A single number of another precision is a constant of the graph.
            Treatment::Constant(_) if tensor.data_type != FLOAT => {
                initializers.push(count.constant(tensor, limits)?);
            }
            kind => {
                let shape = parameter_shape(tensor, bytes, &chunks, limits)?;
                let kind = match kind {
                    Treatment::Constant(remark) => {
                        remarks.push(remark);
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
    remarks.extend(removed_tensors(bytes)?);
    remarks.extend(said);
    Ok((initializers, remarks))
}

/// Returns remarks about parts of the file whose form exporters change, so that they differ from the module.
fn of_exporters(proto: &GraphProto, bytes: &[u8], chunks: &[Chunks], uses: &Uses<'_>) -> Vec<Remark> {
    let tensors = proto.initializer.iter().zip(chunks);
    let by_name: BTreeMap<&str, &Chunks> =
        tensors.map(|(tensor, chunks)| (tensor.name.as_str(), chunks)).collect();
    let is_uniform = |name: &str| {
        by_name.get(name).is_some_and(|chunks| {
            let first = elements(bytes, chunks).next();
            first.is_some_and(|first| all_are(first, bytes, chunks))
        })
    };
    let mut remarks = merged(&proto.node, is_uniform);
    remarks.extend(running_statistics(&proto.node, uses));
    remarks.extend(copied(proto, bytes, chunks));
    remarks
}

/// Returns whether all elements are this number.
fn all_are(number: f32, bytes: &[u8], chunks: &Chunks) -> bool {
    elements(bytes, chunks).all(|element| element == number)
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

/// The treatment of a float initializer that a node reads.
#[derive(Debug, Clone, PartialEq)]
enum Treatment {
    /// A weight.
    Weight,
    /// A weight only because of its name: it has one element, and no layer reads it.
    Named,
    /// Part of the weights, but not trained unless a plan says so.
    Constant(Remark),
    /// Part of the graph, because it must be known at import or cannot be a weight.
    Known(Remark),
}

/// Decides how to treat a float initializer that neither must be known at import nor is a table of positions.
///
/// `elements` is the number of its elements; `is_mask` says whether all of them are 0, 1 or infinite, and one is
/// infinite.
fn treatment(
    tensor: &TensorProto,
    elements: usize,
    is_mask: impl FnOnce() -> bool,
    uses: &Uses<'_>,
    metadata: &Metadata,
) -> Treatment {
    let name = || tensor.name.clone();
    let is_of_layer = uses.of(&tensor.name).iter().any(|one| one.slot.is_of_layer());
    if !is_of_layer && is_mask() {
        return Treatment::Known(Remark::Infinite { tensor: name() });
    }
    match elements == 1 && !is_of_layer && !metadata.is_explicit {
        true if is_named_like_a_weight(&tensor.name) => Treatment::Named,
        true => Treatment::Constant(Remark::OneElement { tensor: name() }),
        false => Treatment::Weight,
    }
}

/// Returns whether the last word of a name is one that authors give to weights. Exporters name constants `val_2`,
/// `onnx::Mul_7`, `const_fold_opt__9`, `lifted_tensor_0`, and so on.
fn is_named_like_a_weight(name: &str) -> bool {
    const WORDS: [&str; 7] = ["beta", "bias", "gamma", "scale", "slope", "temperature", "weight"];
    let last = name.rsplit(['.', '/', ':', '_']).next().unwrap_or(name).to_ascii_lowercase();
    WORDS.contains(&last.as_str())
}
