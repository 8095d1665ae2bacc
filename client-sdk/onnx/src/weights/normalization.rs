//! Finds normalisations that an exporter writes differently from the module's computation.

use std::collections::BTreeMap;

use super::{Remark, Uses};
use crate::attributes::node_name;
use crate::operators::is_of_onnx;
use crate::proto::NodeProto;

/// The maximum number of nodes between a normalisation and its scale.
const STEPS_MAX: usize = 4;

/// The part of a group normalisation that a tensor is.
pub(super) struct Neutral {
    /// The neutral value: a tensor whose elements all have it changes nothing.
    pub(super) element: f32,
    /// The node that scales the result.
    pub(super) node: String,
}

/// Returns the role of an initializer if it is a constant inside of a group normalisation.
///
/// PyTorch's default exporter writes a group normalisation as an `InstanceNormalization` of the groups, between two
/// changes of shape. The scale and the bias of the channels follow it; its own scale and bias are constants of ones and
/// zeros.
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

/// Returns a remark for each normalisation that an exporter may have merged with another.
///
/// PyTorch's default exporter merges nodes that compute the same value, such as normalisations that read one tensor and
/// are equal before training. It numbers the nodes before it merges them: `node_layer_norm`, `node_layer_norm_1`, and
/// so on. A missing number is therefore a merged node. `is_uniform` says whether all elements of an initializer are
/// equal.
pub(super) fn merged(nodes: &[NodeProto], is_uniform: impl Fn(&str) -> bool) -> Vec<Remark> {
    let named = nodes.iter().filter_map(|node| Some((number(node)?, node)));
    let numbered: BTreeMap<(&str, usize), &NodeProto> = named.collect();
    let pairs = numbered.iter().zip(numbered.iter().skip(1));
    let gaps = pairs.filter(|(((one, number), _), ((other, next), _))| one == other && next - number > 1);
    let remark = |node: &NodeProto, next: &NodeProto| {
        let tensor = node.input.get(1).filter(|name| is_uniform(name))?.clone();
        Some(Remark::Merged { tensor, node: node_name(node), next: node_name(next) })
    };
    gaps.filter_map(|((_, node), (_, next))| remark(node, next)).collect()
}

/// Returns the name that PyTorch gives to all normalisations of a kind, and the number of this one.
fn number(node: &NodeProto) -> Option<(&str, usize)> {
    const NAMES: [&str; 2] = ["node_layer_norm", "node_rms_norm"];
    let name = NAMES.into_iter().find(|name| node.name.starts_with(name))?;
    match node.name[name.len()..].strip_prefix('_') {
        Some(digits) => Some((name, digits.parse().ok()?)),
        None => (node.name == name).then_some((name, 0)),
    }
}

/// Returns a remark for each batch normalisation that is written as arithmetic with its running statistics: a difference, a
/// product and a sum with initializers of the same dimensions.
pub(super) fn running_statistics(nodes: &[NodeProto], uses: &Uses<'_>) -> Vec<Remark> {
    let remark = |node: &NodeProto| {
        let mean = uses.stored(node.input.get(1)?)?;
        let scaling = uses.only_reader(node.output.first()?).filter(|next| is_arithmetic(next, "Mul"))?;
        let shift = uses.only_reader(scaling.output.first()?).filter(|next| is_arithmetic(next, "Add"))?;
        let alike = |next: &NodeProto| {
            let mut stored = next.input.iter().filter_map(|name| uses.stored(name));
            stored.any(|tensor| tensor.dims == mean.dims)
        };
        let is_vector = mean.dims.iter().filter(|size| **size > 1).count() == 1;
        let is_all = is_vector && alike(scaling) && alike(shift);
        is_all.then(|| Remark::RunningStatistics { tensor: mean.name.clone(), node: node_name(node) })
    };
    nodes.iter().filter(|node| is_arithmetic(node, "Sub")).filter_map(remark).collect()
}

fn is_arithmetic(node: &NodeProto, operator: &str) -> bool {
    is_of_onnx(node) && node.op_type == operator && node.input.len() == 2
}
