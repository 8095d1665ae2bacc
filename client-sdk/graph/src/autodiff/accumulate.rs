//! Sums the gradient contributions that several readers pass back to one value, as one operation where that is faster.

use crate::graph::{Graph, Source, ValueId};
use crate::op::{ElementOp, Op, ShapeError, volume};

/// A contribution that is nonzero only in a range of one axis.
struct Part {
    start: usize,
    size: usize,
    value: ValueId,
}

/// Sums contributions of the same shape. If the contributions are slices of one axis that do not overlap, such as the
/// time steps of a sequence, concatenates them instead. Adding n slices one by one would take O(n²) time.
pub(super) fn sum(graph: &mut Graph, contributions: &[ValueId]) -> Result<ValueId, ShapeError> {
    let joined = match contributions {
        [_, _, ..] => join(graph, contributions)?,
        _ => None,
    };
    let parts = joined.unwrap_or_else(|| contributions.to_vec());
    let mut parts = merge_products(graph, parts)?.into_iter();
    let first = parts.next().expect("there is at least one contribution");
    parts.try_fold(first, |sum, part| graph.element(ElementOp::Add, &[sum, part]))
}

/// Replaces products `Aᵢᵀ Bᵢ` by one product of the concatenated factors, which is their sum. The gradient of a
/// recurrent layer's weights has one such product for each time step.
fn merge_products(graph: &mut Graph, contributions: Vec<ValueId>) -> Result<Vec<ValueId>, ShapeError> {
    let (mut left, mut right, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for id in &contributions {
        match outer_product(graph, *id) {
            Some([a, b]) => {
                left.push(a);
                right.push(b);
            }
            None => others.push(*id),
        }
    }
    if left.len() < 2 {
        return Ok(contributions);
    }
    let (left, right) = (graph.concat(&left, 0)?, graph.concat(&right, 0)?);
    others.push(graph.matmul(left, right, true, false)?);
    Ok(others)
}

/// Returns the factors of a product `Aᵀ B` of two matrices.
fn outer_product(graph: &Graph, id: ValueId) -> Option<[ValueId; 2]> {
    let Source::Node(index) = graph.values[id.0].source else { return None };
    let node = &graph.nodes[index];
    let is_outer = node.op == Op::MatMul { transpose_a: true, transpose_b: false };
    let [a, b] = node.inputs[..] else { return None };
    (is_outer && [a, b].iter().all(|factor| graph.shape(*factor).len() == 2)).then_some([a, b])
}

fn join(graph: &mut Graph, contributions: &[ValueId]) -> Result<Option<Vec<ValueId>>, ShapeError> {
    let shape = graph.shape(contributions[0]).to_vec();
    let mut others = Vec::new();
    let mut parts: Vec<(usize, Part)> = Vec::new();
    for id in contributions {
        match sliced_axis(graph, *id, &shape) {
            Some(part) => parts.push(part),
            None => others.push(*id),
        }
    }
    let Some(axis) = parts.first().map(|(axis, _)| *axis) else { return Ok(None) };
    if parts.len() < 2 || parts.iter().any(|(other, _)| *other != axis) {
        return Ok(None);
    }
    let mut parts: Vec<Part> = parts.into_iter().map(|(_, part)| part).collect();
    parts.sort_by_key(|part| part.start);
    if parts.windows(2).any(|pair| pair[0].start + pair[0].size > pair[1].start) {
        return Ok(None);
    }
    let (mut pieces, mut end) = (Vec::new(), 0);
    for part in &parts {
        if part.start > end {
            pieces.push(zeros(graph, &shape, axis, part.start - end));
        }
        pieces.push(part.value);
        end = part.start + part.size;
    }
    if end < shape[axis] {
        pieces.push(zeros(graph, &shape, axis, shape[axis] - end));
    }
    others.push(graph.concat(&pieces, axis)?);
    Ok(Some(others))
}

/// Returns the only axis along which a contribution was padded, and the part inside the padding.
fn sliced_axis(graph: &Graph, id: ValueId, shape: &[usize]) -> Option<(usize, Part)> {
    let Source::Node(index) = graph.values[id.0].source else { return None };
    let node = &graph.nodes[index];
    let Op::Unslice { starts, steps } = &node.op else { return None };
    let inner = graph.shape(node.inputs[0]);
    let mut padded = (0..shape.len()).filter(|axis| inner[*axis] != shape[*axis]);
    let axis = padded.next()?;
    if padded.next().is_some() || steps.iter().any(|step| *step != 1) {
        return None;
    }
    Some((axis, Part { start: starts[axis], size: inner[axis], value: node.inputs[0] }))
}

fn zeros(graph: &mut Graph, shape: &[usize], axis: usize, size: usize) -> ValueId {
    let mut shape = shape.to_vec();
    shape[axis] = size;
    let elements = vec![0.0; volume(&shape)];
    graph.add_constant(&shape, elements)
}
