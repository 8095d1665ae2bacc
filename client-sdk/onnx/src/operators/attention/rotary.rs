//! `RotaryEmbedding` (Su et al. 2021): rotates pairs of features by angles that depend on the position.

use super::heads::by_head;
use super::{NodeLowering, Outputs, expect_inside};
use crate::ImportError;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

/// Rotates the first features of every head of `[N, heads, time, features]` or `[N, time, heads · features]`.
///
/// The cosines and sines are `[N, time, pairs]`, or a table `[positions, pairs]` that `position_ids` chooses from.
pub(in super::super) fn embedding(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["interleaved", "num_heads", "rotary_embedding_dim"])?;
    node.expect_inputs(3..=4)?;
    let x = node.input(0)?;
    let original = node.shape(x.value);
    let by_head = by_head(node, &attributes, 0, "num_heads")?;
    let [n, heads, time, features] = node.shape(by_head)[..] else {
        return Err(node.refuse("reads an input that does not have 4 dimensions"));
    };
    let rotated = match usize::try_from(attributes.integer("rotary_embedding_dim", 0)?) {
        Ok(0) => features,
        Ok(size) if size <= features => size,
        _ => {
            return Err(node.refuse(&format!(
                "has a rotary_embedding_dim above the {features} features of a head, or below 0"
            )));
        }
    };
    if rotated % 2 != 0 {
        return Err(node.refuse(&format!("rotates {rotated} features; the number must be even")));
    }
    let pairs = rotated / 2;
    let (cosine, sine) = (angles(node, 1, [n, time, pairs])?, angles(node, 2, [n, time, pairs])?);
    let turned = node.slice_axis(by_head, 3, 0, rotated)?;
    // The two features of a pair are neighbours, or half of the features apart.
    let (split, axis) = if attributes.flag("interleaved")? {
        ([n, heads, time, pairs, 2], 4)
    } else {
        ([n, heads, time, 2, pairs], 3)
    };
    let split = node.reshape(turned, &split)?;
    let [first, second] = [0, 1].map(|half| {
        let half = node.slice_axis(split, axis, half, 1)?;
        node.reshape(half, &[n, heads, time, pairs])
    });
    let (first, second) = (first?, second?);
    let real = combined(node, ElementOp::Subtract, [cosine, first], [sine, second])?;
    let imaginary = combined(node, ElementOp::Add, [sine, first], [cosine, second])?;
    let mut joined = vec![n, heads, time, pairs];
    joined.insert(axis, 1);
    let (real, imaginary) = (node.reshape(real, &joined)?, node.reshape(imaginary, &joined)?);
    let mut result = node.concat(&[real, imaginary], axis)?;
    result = node.reshape(result, &[n, heads, time, rotated])?;
    if rotated < features {
        let rest = node.slice_axis(by_head, 3, rotated, features - rotated)?;
        result = node.concat(&[result, rest], 3)?;
    }
    if original.len() == 3 {
        result = node.transpose(result, &[0, 2, 1, 3])?;
        result = node.reshape(result, &original)?;
    }
    Ok(vec![x.with(result)])
}

/// Returns the cosines or sines as `[N, 1, time, pairs]`.
fn angles(
    node: &mut NodeLowering<'_>,
    position: usize,
    [n, time, pairs]: [usize; 3],
) -> Result<ValueId, ImportError> {
    let mut cache = node.value(position)?;
    let ids = node.optional(3);
    let wanted = if ids.is_some() { 2 } else { 3 };
    if node.graph.shape(cache).len() != wanted {
        return Err(node.refuse(&format!("reads angles that do not have {wanted} dimensions")));
    }
    if let Some(ids) = ids {
        expect_inside(node, ids.value, node.graph.shape(cache)[0])?;
        cache = node.gather(cache, ids.value, 0)?;
    }
    let wide = node.broadcast_to(cache, &[n, time, pairs])?;
    node.reshape(wide, &[n, 1, time, pairs])
}

/// `a₀ a₁ op b₀ b₁`
fn combined(
    node: &mut NodeLowering<'_>,
    op: ElementOp,
    [a, with_a]: [ValueId; 2],
    [b, with_b]: [ValueId; 2],
) -> Result<ValueId, ImportError> {
    let left = node.binary(ElementOp::Multiply, a, with_a)?;
    let right = node.binary(ElementOp::Multiply, b, with_b)?;
    node.binary(op, left, right)
}
