//! `Gather` and its relatives: embeddings, elements of shapes, and elements chosen by position.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::tensor::{Constant, ElementType};
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{ElementOp, strides, volume};

/// The executor computes positions as floats, which are exact up to 2^24.
const POSITIONS_MAX: usize = 1 << 24;

/// Reads an axis at positions; negative positions count from the end.
pub(super) fn gather(node: &mut NodeLowering<'_>) -> Outputs {
    let axis = node.attributes(&["axis"])?.integer("axis", 0)?;
    node.expect_inputs(2..=2)?;
    let (data, positions) = (node.input(0)?, node.value(1)?);
    let shape = node.shape(data.value);
    let axis = node.axis(axis, shape.len())?;
    expect_inside(node, positions, shape[axis])?;
    Ok(vec![data.with(node.gather(data.value, positions, axis)?)])
}

/// `GatherElements`: every element of the result chooses its own position along the axis. The other positions are the
/// element's own.
pub(super) fn gather_elements(node: &mut NodeLowering<'_>) -> Outputs {
    let axis = node.attributes(&["axis"])?.integer("axis", 0)?;
    node.expect_inputs(2..=2)?;
    let (data, positions) = (node.input(0)?, node.value(1)?);
    let (from, to) = (node.shape(data.value), node.shape(positions));
    let axis = node.axis(axis, from.len())?;
    let fits =
        to.len() == from.len() && (0..from.len()).all(|other| other == axis || to[other] <= from[other]);
    if !fits {
        return Err(
            node.refuse(&format!("cannot read positions of shape {to:?} in a tensor of shape {from:?}"))
        );
    }
    expect_inside(node, positions, from[axis])?;
    let steps = strides(&from);
    let mut flat = offset(node, positions, from[axis], steps[axis])?;
    for other in (0..from.len()).filter(|other| *other != axis) {
        let own = own_positions(node, &to, other, steps[other])?;
        flat = node.binary(ElementOp::Add, flat, own)?;
    }
    let table = flattened(node, data.value, &[volume(&from)])?;
    Ok(vec![data.with(node.gather(table, flat, 0)?)])
}

/// `GatherND`: the last axis of the positions holds one position for each of the data's leading axes, after
/// `batch_dims` axes that both share.
pub(super) fn gather_nd(node: &mut NodeLowering<'_>) -> Outputs {
    let shared = node.attributes(&["batch_dims"])?.integer("batch_dims", 0)?;
    node.expect_inputs(2..=2)?;
    let (data, positions) = (node.input(0)?, node.value(1)?);
    let (from, to) = (node.shape(data.value), node.shape(positions));
    let shared = usize::try_from(shared).ok().filter(|shared| *shared < to.len());
    let (Some(shared), Some((depth, places))) = (shared, to.split_last()) else {
        return Err(node.refuse("has more batch_dims than its positions have dimensions"));
    };
    let end = shared + depth;
    if end > from.len() || *depth == 0 || from[..shared] != to[..shared] {
        return Err(
            node.refuse(&format!("cannot read positions of shape {to:?} in a tensor of shape {from:?}"))
        );
    }
    let steps = strides(&from[..end]);
    let mut flat = None;
    for (part, axis) in (shared..end).enumerate() {
        let chosen = node.slice_axis(positions, places.len(), part, 1)?;
        let chosen = node.reshape(chosen, places)?;
        expect_inside(node, chosen, from[axis])?;
        let own = offset(node, chosen, from[axis], steps[axis])?;
        flat = Some(match flat {
            None => own,
            Some(sum) => node.binary(ElementOp::Add, sum, own)?,
        });
    }
    let mut flat = flat.ok_or_else(|| node.refuse("reads no positions"))?;
    for (axis, step) in steps.iter().enumerate().take(shared) {
        let own = own_positions(node, places, axis, *step)?;
        flat = node.binary(ElementOp::Add, flat, own)?;
    }
    let table = flattened(node, data.value, &[&[volume(&from[..end])], &from[end..]].concat())?;
    Ok(vec![data.with(node.gather(table, flat, 0)?)])
}

/// `OneHot`: `on` at each position of a new axis of size `depth`, `off` elsewhere. A position outside gives only `off`.
pub(super) fn one_hot(node: &mut NodeLowering<'_>) -> Outputs {
    let axis = node.attributes(&["axis"])?.integer("axis", -1)?;
    node.expect_inputs(3..=3)?;
    let (positions, values) = (node.value(0)?, node.input(2)?);
    let depth = node.known_number(1)?.unwrap_or(0.0);
    if !(1.0..=POSITIONS_MAX as f64).contains(&depth) {
        return Err(node.refuse(&format!("has the depth {depth}; it must be from 1 to 2^24")));
    }
    let depth = depth as usize;
    let mut shape = node.shape(positions);
    let axis = node.axis(axis, shape.len() + 1)?;
    if node.graph.shape(values.value) != [2] {
        return Err(node.refuse("does not have two values, off and on"));
    }
    shape.insert(axis, 1);
    let positions = offset(node, positions, depth, 1)?;
    let positions = node.reshape(positions, &shape)?;
    shape[axis] = depth;
    node.fits(&shape)?;
    let classes = own_positions(node, &shape, axis, 1)?;
    let is_on = node.binary(ElementOp::Equal, positions, classes)?;
    let (off, on) = (node.slice_axis(values.value, 0, 0, 1)?, node.slice_axis(values.value, 0, 1, 1)?);
    let (off, on) = (node.reshape(off, &[])?, node.reshape(on, &[])?);
    Ok(vec![values.with(node.select(is_on, on, off)?)])
}

/// Refuses constant positions outside of an axis. Computed positions are only known to the executor.
pub(super) fn expect_inside(
    node: &NodeLowering<'_>,
    positions: ValueId,
    size: usize,
) -> Result<(), ImportError> {
    let size = size as f64;
    let outside =
        |positions: &[f64]| positions.iter().copied().find(|position| !(-size..size).contains(position));
    match node.graph.constant(positions).and_then(outside) {
        Some(outside) => Err(node.refuse(&format!("reads position {outside} of an axis of size {size}"))),
        None => Ok(()),
    }
}

/// Returns `step` times the positions. Positions below 0 count from the end.
fn offset(
    node: &mut NodeLowering<'_>,
    positions: ValueId,
    size: usize,
    step: usize,
) -> Result<ValueId, ImportError> {
    let from_end = node.with_number(ElementOp::Add, positions, size as f64)?;
    let is_negative = node.with_number(ElementOp::Less, positions, 0.0)?;
    let from_start = node.select(is_negative, from_end, positions)?;
    node.with_number(ElementOp::Multiply, from_start, step as f64)
}

/// Returns `step` times the position along an axis, in a shape that broadcasts to `shape`.
fn own_positions(
    node: &mut NodeLowering<'_>,
    shape: &[usize],
    axis: usize,
    step: usize,
) -> Result<ValueId, ImportError> {
    let mut sizes = vec![1; shape.len()];
    sizes[axis] = shape[axis];
    node.budget.room_for_constants(shape[axis])?;
    let elements = (0..shape[axis]).map(|position| (position * step) as f64).collect();
    Ok(node.constant(Constant { shape: sizes, elements, element_type: ElementType::Integer }).value)
}

/// Reshapes to a table whose first axis is small enough for positions to be exact.
fn flattened(node: &mut NodeLowering<'_>, data: ValueId, shape: &[usize]) -> Result<ValueId, ImportError> {
    if shape[0] > POSITIONS_MAX {
        let limit = POSITIONS_MAX;
        return Err(node.refuse(&format!("chooses among {} elements; the limit is {limit}", shape[0])));
    }
    node.reshape(data, shape)
}
