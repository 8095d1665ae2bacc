//! Pooling over one- or two-dimensional windows, and global pooling.

use super::geometry::{Geometry, spatial_dimensions, with_as_many, with_two};
use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::attributes::Attributes;
use folkmoot_graph::op::{Op, Reduction, Window};

const ATTRIBUTES: [&str; 6] = ["auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"];

/// `MaxPool`, without the second output (positions).
pub(super) fn maximum(node: &mut NodeLowering<'_>) -> Outputs {
    // `storage_order` only affects positions, which are not computed.
    let attributes = node.attributes(&[&ATTRIBUTES[..], &["storage_order"]].concat())?;
    if node.names_output(1) {
        return Err(node.refuse("returns the positions of the maxima, which is not supported"));
    }
    pool(node, &attributes, |window, _| Op::MaxPool { window })
}

/// `AveragePool`
pub(super) fn average(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&[&ATTRIBUTES[..], &["count_include_pad"]].concat())?;
    let counts = attributes.flag("count_include_pad")?;
    pool(node, &attributes, |window, after| Op::AveragePool {
        window,
        counted_padding: counts.then_some(after),
    })
}

fn pool(
    node: &mut NodeLowering<'_>,
    attributes: &Attributes<'_>,
    op: impl Fn(Window, [usize; 2]) -> Op,
) -> Outputs {
    node.expect_inputs(1..=1)?;
    let input = node.input(0)?;
    let dimensions = spatial_dimensions(node, input.value)?;
    let geometry = Geometry::new(node, attributes, dimensions, None)?;
    let rounds_up = attributes.flag("ceil_mode")?;
    let two = with_two(node, input.value)?;
    let mut shape = node.shape(two);
    let (window, after) = geometry.window([shape[2], shape[3]]);
    for axis in [0, 1] {
        shape[axis + 2] = outputs(node, &window, axis, shape[axis + 2], after[axis], rounds_up)?;
    }
    node.fits(&shape)?;
    let result = node.graph.pool(op(window, after), &[two], &shape);
    Ok(vec![input.with(with_as_many(node, result, dimensions)?)])
}

/// Returns the number of windows along an axis; each must overlap the input.
fn outputs(
    node: &NodeLowering<'_>,
    window: &Window,
    axis: usize,
    size: usize,
    after: usize,
    rounds_up: bool,
) -> Result<usize, ImportError> {
    let (stride, before) = (window.strides[axis], window.pads[axis]);
    let free = (size + before + after).checked_sub(window.span(axis));
    let free = free.ok_or_else(|| node.refuse("has a window that is larger than the padded input"))?;
    let mut outputs = if rounds_up { free.div_ceil(stride) } else { free / stride } + 1;
    // A window that would start in the padding after the input is dropped.
    if rounds_up && (outputs - 1) * stride >= size + before {
        outputs -= 1;
    }
    let is_empty = |output: usize| {
        let (start, dilation) = (output * stride, window.dilations[axis]);
        let offset = before.saturating_sub(start).div_ceil(dilation);
        offset >= window.kernel[axis] || start + offset * dilation >= size + before
    };
    // Windows that start inside the input overlap it.
    let in_front = 0..before.div_ceil(stride).min(outputs);
    if in_front.into_iter().any(is_empty) || is_empty(outputs - 1) {
        return Err(node.refuse("has a window that lies entirely in the padding"));
    }
    Ok(outputs)
}

/// The mean of each channel.
pub(super) fn global_average(node: &mut NodeLowering<'_>) -> Outputs {
    let axes = spatial_axes(node)?;
    let input = node.input(0)?;
    Ok(vec![input.with(node.mean(input.value, &axes)?)])
}

/// The maximum of each channel.
pub(super) fn global_maximum(node: &mut NodeLowering<'_>) -> Outputs {
    let axes = spatial_axes(node)?;
    let input = node.input(0)?;
    Ok(vec![input.with(node.reduce(Reduction::Maximum, input.value, &axes))])
}

fn spatial_axes(node: &NodeLowering<'_>) -> Result<Vec<usize>, ImportError> {
    node.attributes(&[])?;
    node.expect_inputs(1..=1)?;
    match node.graph.shape(node.value(0)?).len() {
        rank if rank > 2 => Ok((2..rank).collect()),
        _ => Err(node.refuse("has no spatial dimensions")),
    }
}
