//! Windows over two dimensions: the operators of the graph.

use super::NodeLowering;
use super::geometry::{Geometry, Padding, split};
use crate::ImportError;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{Op, Window};

/// Convolves `[N, C, H, W]`.
pub(super) fn convolution(
    node: &mut NodeLowering<'_>,
    input: ValueId,
    filter: ValueId,
    geometry: &Geometry,
    groups: usize,
) -> Result<ValueId, ImportError> {
    let [n, _, height, width] = four(node, input)?;
    let (window, after) = geometry.window([height, width]);
    let positions = |axis: usize, size: usize| window.positions(axis, size + window.pads[axis] + after[axis]);
    let (Some(rows), Some(columns)) = (positions(0, height), positions(1, width)) else {
        return Err(node.refuse("has a filter that is larger than the padded input"));
    };
    node.fits(&[n, node.graph.shape(filter)[0], rows, columns])?;
    let result = node.graph.conv(input, filter, window, after, groups);
    result.map_err(|source| node.misfit(source))
}

/// The settings of a transposed convolution that choose the result's size.
pub(super) struct Size {
    /// `output_padding`: positions added at the end.
    pub(super) extra: Option<[usize; 2]>,
    /// `output_shape`: the result's size.
    pub(super) wanted: Option<[usize; 2]>,
}

/// The transposed convolution of `[N, C, H, W]`: the input gradient of a convolution from the result's shape to the
/// input's shape.
pub(super) fn transposed(
    node: &mut NodeLowering<'_>,
    input: ValueId,
    filter: ValueId,
    geometry: &Geometry,
    size: &Size,
    groups: usize,
) -> Result<ValueId, ImportError> {
    let [n, _, height, width] = four(node, input)?;
    let [_, per_group, ..] = four(node, filter)?;
    let (window, size) = transposed_window(node, geometry, size, [height, width])?;
    let shape = [n, per_group.saturating_mul(groups), size[0], size[1]];
    node.fits(&shape)?;
    Ok(node.graph.conv_input_gradient(input, filter, window, groups, &shape))
}

/// Returns the window and the output's size.
pub(super) fn transposed_window(
    node: &NodeLowering<'_>,
    geometry: &Geometry,
    settings: &Size,
    size: [usize; 2],
) -> Result<(Window, [usize; 2]), ImportError> {
    let Geometry { kernel, strides, dilations, padding } = *geometry;
    let window = |pads| Window { kernel, strides, dilations, pads };
    let extra = settings.extra.unwrap_or([0; 2]);
    let (mut pads, mut output) = ([0; 2], [0; 2]);
    for axis in [0, 1] {
        let reach = (size[axis] - 1)
            .checked_mul(strides[axis])
            .and_then(|reach| reach.checked_add(window([0; 2]).span(axis) + extra[axis]));
        let reach = reach.ok_or_else(|| node.refuse("creates a tensor whose size overflows"))?;
        let wanted = match (settings.wanted, padding) {
            (Some(wanted), _) => Some(wanted[axis]),
            (None, Padding::Same { .. }) => Some(size[axis].saturating_mul(strides[axis])),
            (None, Padding::Explicit(_)) => None,
        };
        let [before, after] = match (wanted, padding) {
            (Some(wanted), padding) => {
                split(reach.saturating_sub(wanted), padding != Padding::Same { odd_before: false })
            }
            (None, Padding::Explicit([before, after])) => [before[axis], after[axis]],
            (None, Padding::Same { .. }) => [0; 2],
        };
        // Positions that no input reaches stay 0.
        let left = wanted.or(reach.checked_sub(before + after)).filter(|left| *left > 0);
        output[axis] = left.ok_or_else(|| node.refuse("has padding that removes the whole output"))?;
        pads[axis] = before;
    }
    Ok((window(pads), output))
}

/// Pools `[N, C, H, W]`.
pub(super) fn pool(
    node: &mut NodeLowering<'_>,
    input: ValueId,
    geometry: &Geometry,
    rounds_up: bool,
    op: impl Fn(Window, [usize; 2]) -> Op,
) -> Result<ValueId, ImportError> {
    let mut shape = node.shape(input);
    let (window, after) = geometry.window([shape[2], shape[3]]);
    for axis in [0, 1] {
        shape[axis + 2] = outputs(node, &window, axis, shape[axis + 2], after[axis], rounds_up)?;
    }
    node.fits(&shape)?;
    Ok(node.graph.pool(op(window, after), &[input], &shape))
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

fn four(node: &NodeLowering<'_>, value: ValueId) -> Result<[usize; 4], ImportError> {
    let shape = node.shape(value);
    <[usize; 4]>::try_from(shape).map_err(|_| node.refuse("does not have two spatial dimensions"))
}
