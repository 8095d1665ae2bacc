//! Parts of a tensor: `Slice` and `Split`.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::attributes::Attributes;

/// The range read along one axis.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    step: isize,
    size: usize,
}

/// `Slice`: negative positions count from the end, and positions out of range are clamped.
pub(super) fn slice(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["starts", "ends", "axes"])?;
    node.expect_inputs(1..=5)?;
    let input = node.input(0)?;
    let shape = node.shape(input.value);
    let parts = parts(node, &attributes, &shape)?;
    let sizes: Vec<usize> = parts.iter().map(|part| part.size).collect();
    if sizes.contains(&0) {
        return Ok(vec![input.with(node.empty(&sizes))]);
    }
    let starts: Vec<usize> = parts.iter().map(|part| part.start).collect();
    let steps: Vec<isize> = parts.iter().map(|part| part.step).collect();
    Ok(vec![input.with(node.slice(input.value, &starts, &steps, &sizes)?)])
}

fn parts(
    node: &NodeLowering<'_>,
    attributes: &Attributes<'_>,
    shape: &[usize],
) -> Result<Vec<Part>, ImportError> {
    let starts = node.integers(attributes, "starts", 1)?.ok_or_else(|| node.refuse("lacks starts"))?;
    let ends = node.integers(attributes, "ends", 2)?.ok_or_else(|| node.refuse("lacks ends"))?;
    let axes = node.integers(attributes, "axes", 3)?;
    let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = node.known_integers(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err(node.refuse("has starts, ends, axes and steps of different lengths"));
    }
    node.axes(&axes, shape.len())?;
    let mut parts: Vec<Part> = shape.iter().map(|size| Part { start: 0, step: 1, size: *size }).collect();
    for (position, axis) in axes.iter().enumerate() {
        let axis = node.axis(*axis, shape.len())?;
        let found = part(starts[position], ends[position], steps[position], shape[axis]);
        parts[axis] = found.ok_or_else(|| node.refuse("has a step of 0"))?;
    }
    Ok(parts)
}

fn part(start: i64, end: i64, step: i64, size: usize) -> Option<Part> {
    // Tensors have far fewer than 2^62 elements, so this does not overflow.
    let size = size as i64;
    let (lowest, highest) = if step < 0 { (-1, size - 1) } else { (0, size) };
    let inside = |position: i64, lowest: i64| {
        let from_the_start = if position < 0 { position.saturating_add(size) } else { position };
        from_the_start.clamp(lowest, highest.max(lowest))
    };
    let (start, end) = (inside(start, 0), inside(end, lowest));
    let length = if step < 0 { start - end } else { end - start };
    let distance = i64::try_from(step.unsigned_abs()).unwrap_or(i64::MAX);
    let count = match (length, distance) {
        (_, 0) => return None,
        (..=0, _) => 0,
        (length, distance) => (length - 1) / distance + 1,
    };
    let step = if count > 1 { step } else { 1 };
    Some(Part {
        start: usize::try_from(start).unwrap_or(0),
        step: isize::try_from(step).unwrap_or(1),
        size: usize::try_from(count).unwrap_or(0),
    })
}

/// `Split`: splits into parts of the given sizes, or into equal parts. The last of the equal parts may be smaller.
pub(super) fn split(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["axis", "split", "num_outputs"])?;
    node.expect_inputs(1..=2)?;
    let input = node.input(0)?;
    let shape = node.shape(input.value);
    let axis = node.axis(attributes.integer("axis", 0)?, shape.len())?;
    let sizes = match node.integers(&attributes, "split", 1)? {
        Some(sizes) => sizes,
        None => {
            let outputs = node.proto.output.len();
            let count = attributes.integer("num_outputs", outputs as i64)?;
            if usize::try_from(count).ok() != Some(outputs) {
                return Err(node.refuse("has a num_outputs that differs from its number of outputs"));
            }
            equal_parts(node, shape[axis], outputs, attributes.has("num_outputs"))?
        }
    };
    let (mut start, mut outputs) = (0, Vec::new());
    for size in sizes {
        let left = shape[axis] - start;
        let size = usize::try_from(size).ok().filter(|size| *size <= left);
        let size = size.ok_or_else(|| node.refuse("has parts whose sizes do not add up to the axis"))?;
        let part = if size == 0 || shape.contains(&0) {
            let mut shape = shape.clone();
            shape[axis] = size;
            node.empty(&shape)
        } else {
            node.slice_axis(input.value, axis, start, size)?
        };
        outputs.push(input.with(part));
        start += size;
    }
    if start != shape[axis] || outputs.len() != node.proto.output.len() {
        return Err(node.refuse("has parts whose sizes do not add up to the axis"));
    }
    Ok(outputs)
}

fn equal_parts(
    node: &NodeLowering<'_>,
    size: usize,
    count: usize,
    last_may_be_smaller: bool,
) -> Result<Vec<i64>, ImportError> {
    if !size.is_multiple_of(count) && !last_may_be_smaller {
        return Err(node.refuse(&format!("cannot divide {size} positions into {count} equal parts")));
    }
    let part = size.div_ceil(count);
    Ok((0..count).map(|index| part.min(size.saturating_sub(index * part)) as i64).collect())
}
