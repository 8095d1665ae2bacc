//! Triangles of matrices (`Trilu`) and running sums (`CumSum`).

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::tensor::{Constant, ElementType};
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

/// `Trilu`: keeps the elements on one side of a diagonal and that diagonal; the others become 0.
pub(super) fn triangle(node: &mut NodeLowering<'_>) -> Outputs {
    let keeps_upper = node.attributes(&["upper"])?.integer("upper", 1)? != 0;
    node.expect_inputs(1..=2)?;
    let x = node.input(0)?;
    let diagonal = node.known_number(1)?.unwrap_or(0.0) as i64;
    let shape = node.shape(x.value);
    let &[.., rows, columns] = &shape[..] else {
        return Err(node.refuse("reads a tensor that is not a matrix; it must have 2 dimensions or more"));
    };
    if shape.contains(&0) {
        return Ok(vec![x]);
    }
    node.budget.room_for_constants(rows.saturating_mul(columns))?;
    let is_kept = |row: usize, column: usize| {
        let distance = column as i64 - row as i64;
        if keeps_upper { distance >= diagonal } else { distance <= diagonal }
    };
    let elements = (0..rows * columns)
        .map(|index| f64::from(u8::from(is_kept(index / columns, index % columns))))
        .collect();
    let mask = Constant { shape: vec![rows, columns], elements, element_type: ElementType::Boolean };
    let mask = node.constant(mask);
    // Not a product, because 0 times infinity is NaN.
    let zero = node.graph.add_scalar(0.0);
    Ok(vec![x.with(node.select(mask.value, x.value, zero)?)])
}

/// `CumSum` along an axis.
///
/// Adds the tensor to itself shifted by 1, 2, 4, … positions (Hillis and Steele 1986), so n positions take about
/// log₂ n additions.
pub(super) fn running_sum(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["exclusive", "reverse"])?;
    let (is_exclusive, is_reversed) = (attributes.flag("exclusive")?, attributes.flag("reverse")?);
    node.expect_inputs(2..=2)?;
    let x = node.input(0)?;
    let shape = node.shape(x.value);
    let axis = node.known_number(1)?.ok_or_else(|| node.refuse("lacks an axis"))?;
    let axis = node.axis(axis as i64, shape.len())?;
    let size = shape[axis];
    let mut sum = x.value;
    if is_exclusive {
        sum = shifted(node, sum, axis, 1, is_reversed)?;
    }
    let mut distance = 1;
    while distance < size {
        let moved = shifted(node, sum, axis, distance, is_reversed)?;
        sum = node.binary(ElementOp::Add, sum, moved)?;
        distance *= 2;
    }
    Ok(vec![x.with(sum)])
}

/// Moves all elements along an axis, towards its end or its start. Zeros fill the free positions.
fn shifted(
    node: &mut NodeLowering<'_>,
    value: ValueId,
    axis: usize,
    distance: usize,
    to_start: bool,
) -> Result<ValueId, ImportError> {
    let shape = node.shape(value);
    let Some(left) = shape[axis].checked_sub(distance).filter(|left| *left > 0) else {
        let zero = node.graph.add_scalar(0.0);
        return node.broadcast_to(zero, &shape);
    };
    let kept = node.slice_axis(value, axis, if to_start { distance } else { 0 }, left)?;
    let mut starts = vec![0; shape.len()];
    starts[axis] = if to_start { 0 } else { distance };
    node.unslice(kept, &starts, &shape)
}
