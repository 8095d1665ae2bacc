//! Reads the weights of files in which they are obvious. The small importer does nothing else. For such files, it finds
//! the same weights as the complete importer.

use std::collections::BTreeMap;

use super::positions::positions;
use super::slot::by_operator;
use super::{Metadata, Remark, Slot, known_values};
use crate::initializer::{Content, FrozenCount, Initializer, parameter_shape};
use crate::locate::elements;
use crate::operators::with_branches;
use crate::parameter::ParameterKind;
use crate::proto::{FLOAT, GraphProto};
use crate::tensor::ElementType;
use crate::{Chunks, ImportError, ImportLimits};

/// Reads the initializers of a file in which every float32 initializer is a weight of its own. Their order in the file is
/// the order of the schema.
///
/// # Errors
/// Returns [`ImportError::NotObvious`] for a tensor whose treatment needs a decision: a number that no layer reads as a
/// weight, a setting, a tensor that several nodes read, a table of positions, an infinite element, or a weight of
/// another type. Otherwise returns the same errors as the complete importer.
pub(crate) fn weights(
    proto: &GraphProto,
    bytes: &[u8],
    chunks: Vec<Chunks>,
    limits: &ImportLimits,
) -> Result<(Vec<Initializer>, Vec<Remark>), ImportError> {
    let (metadata, known, uses) = (Metadata::read(bytes)?, known_values(proto), uses(proto));
    let is_of_no_layer = |name: &str| {
        let mut slots = uses.get(name).into_iter().flatten();
        slots.all(|slot| slot.is_none_or(|slot| !slot.is_of_layer()))
    };
    let tables = positions(proto, bytes, &chunks, is_of_no_layer);
    let mut count = FrozenCount::new(limits);
    let mut initializers = Vec::new();
    for (tensor, chunks) in proto.initializer.iter().zip(chunks) {
        let name = tensor.name.as_str();
        let slots = uses.get(name).map_or(&[][..], Vec::as_slice);
        let is_float = tensor.data_type == FLOAT;
        let is_integer = ElementType::of(tensor.data_type).is_some_and(|kind| kind != ElementType::Float);
        let is_obvious = match slots {
            _ if !is_float && !is_integer => false,
            // Integers are constants, unless a layer computes with them.
            _ if is_integer => slots.iter().all(|slot| *slot == Some(Slot::Other)),
            [] => true,
            _ if metadata.is_explicit => true,
            _ if tables.contains(name) => false,
            [Some(slot)] => slot.is_of_layer() || tensor.dims.iter().any(|size| *size > 1),
            _ => false,
        };
        let is_weight = || !known.contains(name) && elements(bytes, &chunks).all(f32::is_finite);
        if !is_obvious || is_float && !is_weight() {
            return Err(ImportError::NotObvious { what: format!("tensor {name}") });
        }
        if !is_float {
            initializers.push(count.constant(tensor, limits)?);
        } else if !slots.is_empty() {
            let shape = parameter_shape(tensor, bytes, &chunks, limits)?;
            let content = Content::Trained(chunks, ParameterKind::Trained);
            initializers.push(Initializer { name: name.to_owned(), shape, content });
        }
    }
    Ok((initializers, Vec::new()))
}

/// Returns the roles in which nodes read each value. `None` stands for a node that gives the value another name, or that may
/// be a part of a group normalisation.
fn uses(proto: &GraphProto) -> BTreeMap<&str, Vec<Option<Slot>>> {
    let mut uses: BTreeMap<&str, Vec<Option<Slot>>> = BTreeMap::new();
    for node in with_branches(&proto.node) {
        let is_decided = !matches!(node.op_type.as_str(), "Identity" | "InstanceNormalization");
        for (position, name) in node.input.iter().enumerate() {
            let slot = Some(by_operator(node, position)).filter(|_| is_decided);
            uses.entry(name).or_default().push(slot);
        }
    }
    uses
}
