//! Finds normalisations that an exporter writes in another way than the module computes them.

use super::Uses;
use crate::attributes::node_name;
use crate::operators::is_of_onnx;

/// The maximum number of nodes between a normalisation and its scale.
const STEPS_MAX: usize = 4;

/// The part of a group normalisation that a tensor is.
pub(super) struct Neutral {
    /// The value of each element, with which the tensor changes nothing.
    pub(super) element: f32,
    /// The node that scales the result.
    pub(super) node: String,
}

/// Returns the part of a group normalisation that an initializer may be.
///
/// PyTorch's default exporter writes a group normalisation as an `InstanceNormalization` of the groups, between two changes of
/// shape. The scale and the bias of the channels are behind it, and its own are constants of ones and zeros.
pub(super) fn neutral(uses: &Uses<'_>, initializer: &str) -> Option<Neutral> {
    let [one] = uses.of(initializer) else { return None };
    let node = uses.node(one.node);
    let element = match (node.op_type.as_str(), one.position) {
        ("InstanceNormalization", 1) => 1.0,
        ("InstanceNormalization", 2) => 0.0,
        _ => return None,
    };
    let mut value = node.output.first()?;
    for step in 0..STEPS_MAX {
        let next = uses.only_reader(value).filter(|next| is_of_onnx(next))?;
        match next.op_type.as_str() {
            "Reshape" if next.input.first() == Some(value) => value = next.output.first()?,
            "Mul" if step > 0 && next.input.iter().any(|name| uses.is_stored(name)) => {
                return Some(Neutral { element, node: node_name(next) });
            }
            _ => return None,
        }
    }
    None
}
