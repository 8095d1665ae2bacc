//! `Pad` in the modes constant, edge, reflect and wrap; negative padding crops.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::attributes::Attributes;
use crate::tensor::{Constant, ElementType};
use folkmoot_graph::ValueId;

/// Padding before and after each axis; negative numbers crop.
type Pads = Vec<[i64; 2]>;

/// Lowers `Pad`.
pub(super) fn pad(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["mode", "pads", "value"])?;
    node.expect_inputs(1..=4)?;
    let input = node.input(0)?;
    let pads = pads(node, &attributes)?;
    let cut = cut_off(node, input.value, &pads)?;
    let added: Pads = pads.iter().map(|pads| pads.map(|pad| pad.max(0))).collect();
    let shape = padded_shape(node, cut, &added)?;
    let value = match attributes.text("mode")?.unwrap_or("constant") {
        "constant" => {
            let number = match node.known_number(2)? {
                Some(number) => number,
                None => attributes.float("value", 0.0)?.into(),
            };
            with_constant(node, cut, &added, &shape, number)?
        }
        "edge" => with_positions(node, cut, &added, |position, size| position.clamp(0, size - 1))?,
        "reflect" => with_positions(node, cut, &added, |position, size| {
            let period = 2 * (size - 1).max(1);
            let position = position.rem_euclid(period);
            if position < size { position } else { period - position }.min(size - 1)
        })?,
        "wrap" => with_positions(node, cut, &added, i64::rem_euclid)?,
        other => {
            return Err(node.refuse(&format!(
                "has the unknown mode {other}; constant, edge, reflect and wrap are supported"
            )));
        }
    };
    Ok(vec![input.with(value)])
}

fn pads(node: &NodeLowering<'_>, attributes: &Attributes<'_>) -> Result<Pads, ImportError> {
    let rank = node.graph.shape(node.value(0)?).len();
    let numbers = node.integers(attributes, "pads", 1)?.ok_or_else(|| node.refuse("lacks pads"))?;
    let axes = node.known_integers(3)?.unwrap_or_else(|| (0..rank as i64).collect());
    node.axes(&axes, rank)?;
    if numbers.len() != 2 * axes.len() {
        return Err(node.refuse("does not have two pads for each axis"));
    }
    let (before, after) = numbers.split_at(axes.len());
    let mut pads = vec![[0; 2]; rank];
    for (position, axis) in axes.iter().enumerate() {
        pads[node.axis(*axis, rank)?] = [before[position], after[position]];
    }
    Ok(pads)
}

/// Crops the axes whose padding is negative.
fn cut_off(node: &mut NodeLowering<'_>, input: ValueId, pads: &Pads) -> Result<ValueId, ImportError> {
    let shape = node.shape(input);
    let (mut starts, mut sizes) = (Vec::new(), Vec::new());
    for (size, [before, after]) in shape.iter().zip(pads) {
        let cut = |pad: &i64| usize::try_from(pad.saturating_neg()).unwrap_or(0);
        let left = size.checked_sub(cut(before)).and_then(|left| left.checked_sub(cut(after)));
        let left = left.filter(|left| *left > 0);
        starts.push(cut(before));
        sizes.push(left.ok_or_else(|| node.refuse("removes a whole axis"))?);
    }
    node.slice(input, &starts, &vec![1; sizes.len()], &sizes)
}

fn padded_shape(node: &NodeLowering<'_>, input: ValueId, added: &Pads) -> Result<Vec<usize>, ImportError> {
    let size = |(size, pads): (&usize, &[i64; 2])| {
        pads.iter().try_fold(*size, |size, pad| usize::try_from(*pad).ok()?.checked_add(size))
    };
    let shape: Option<Vec<usize>> = node.graph.shape(input).iter().zip(added).map(size).collect();
    let shape = shape.ok_or_else(|| node.refuse("creates a tensor whose size overflows"))?;
    node.fits(&shape)?;
    Ok(shape)
}

fn with_constant(
    node: &mut NodeLowering<'_>,
    input: ValueId,
    added: &Pads,
    shape: &[usize],
    number: f64,
) -> Result<ValueId, ImportError> {
    let starts: Vec<usize> = added.iter().map(|[before, _]| *before as usize).collect();
    let padded = node.unslice(input, &starts, shape)?;
    if number == 0.0 || padded == input {
        return Ok(padded);
    }
    // A mask that is 1 at the input's elements and 0 in the padding. Along axes without padding, such as the batch, the
    // mask has size 1.
    let is_padded = |axis: usize| added[axis] != [0, 0];
    let of_mask = |sizes: &[usize]| -> Vec<usize> {
        sizes.iter().enumerate().map(|(axis, size)| if is_padded(axis) { *size } else { 1 }).collect()
    };
    let inside = of_mask(node.graph.shape(input));
    let one = node.graph.add_scalar(1.0);
    let inside = node.broadcast_to(one, &inside)?;
    let mask = node.unslice(inside, &starts, &of_mask(shape))?;
    let number = node.graph.add_scalar(number);
    node.select(mask, padded, number)
}

/// Reads each padded axis at positions computed from the positions in the result.
fn with_positions(
    node: &mut NodeLowering<'_>,
    input: ValueId,
    added: &Pads,
    position: impl Fn(i64, i64) -> i64,
) -> Result<ValueId, ImportError> {
    let mut value = input;
    for (axis, [before, after]) in added.iter().enumerate().filter(|(_, pads)| **pads != [0, 0]) {
        let size = node.graph.shape(value)[axis] as i64;
        // The shape was checked before, so this is within the limit.
        let elements: Vec<f64> = (-before..size + after).map(|index| position(index, size) as f64).collect();
        node.budget.room_for_constants(elements.len())?;
        let constant = Constant { shape: vec![elements.len()], elements, element_type: ElementType::Integer };
        let positions = node.constant(constant);
        value = node.gather(value, positions.value, axis)?;
    }
    Ok(value)
}
