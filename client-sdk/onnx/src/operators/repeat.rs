//! Repetition: `Expand` and `Tile`.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::limits::RANK_MAX;
use folkmoot_graph::op::broadcast;

/// `Expand`: broadcasts the input and the given shape to one shape.
pub(super) fn expand(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    node.expect_inputs(2..=2)?;
    let input = node.input(0)?;
    let wanted = node.known_integers(1)?.unwrap_or_default();
    let wanted = counts(node, &wanted)?;
    let shape = broadcast(&[node.graph.shape(input.value), &wanted]).map_err(|source| node.misfit(source))?;
    Ok(vec![input.with(node.broadcast_to(input.value, &shape)?)])
}

/// `Tile`: repeats the whole tensor along each axis. Inserts an axis of size 1 before each repeated axis, broadcasts
/// it, and merges both axes.
pub(super) fn tile(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    node.expect_inputs(2..=2)?;
    let input = node.input(0)?;
    let repeats = node.known_integers(1)?.unwrap_or_default();
    let repeats = counts(node, &repeats)?;
    let shape = node.shape(input.value);
    if repeats.len() != shape.len() {
        return Err(node.refuse("does not have a repeat count for every axis"));
    }
    let (mut split, mut repeated, mut result) = (Vec::new(), Vec::new(), Vec::new());
    for (size, count) in shape.into_iter().zip(repeats) {
        if count > 1 {
            split.push(1);
            repeated.push(count);
        }
        split.push(size);
        repeated.push(size);
        result.push(size.saturating_mul(count));
    }
    node.fits(&result)?;
    let value = node.reshape(input.value, &split)?;
    let value = node.broadcast_to(value, &repeated)?;
    Ok(vec![input.with(node.reshape(value, &result)?)])
}

/// Converts sizes or repeat counts, each of which must be 1 or more.
fn counts(node: &NodeLowering<'_>, numbers: &[i64]) -> Result<Vec<usize>, ImportError> {
    if numbers.len() > RANK_MAX {
        return Err(node.refuse(&format!(
            "creates a tensor with {} dimensions; the limit is {RANK_MAX}",
            numbers.len()
        )));
    }
    let count = |number: &i64| match usize::try_from(*number) {
        Ok(0) => Err(node.refuse("has a size or repeat count of 0; it must be 1 or more")),
        Ok(count) => Ok(count),
        Err(_) => Err(node.refuse(&format!("has the size or repeat count {number}; it must be 1 or more"))),
    };
    numbers.iter().map(count).collect()
}
