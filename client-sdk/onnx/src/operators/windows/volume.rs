//! Windows over three dimensions, composed of windows over planes.
//!
//! A convolution reads the planes under its filter as additional channels of one plane. A maximum or mean over a window
//! is computed in each plane first, and then over the depth.

use super::NodeLowering;
use super::geometry::Geometry;
use super::plane::{self, Size, transposed_window};
use crate::ImportError;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{ElementOp, Op, Window};

/// Exchanges the axes of channels and depth.
const EXCHANGED: [usize; 5] = [0, 2, 1, 3, 4];

/// Convolves `[N, C, D, H, W]` with `[M, C / groups, kD, kH, kW]`.
pub(super) fn convolution(
    node: &mut NodeLowering<'_>,
    input: ValueId,
    filter: ValueId,
    [depth, flat]: &[Geometry; 2],
    groups: usize,
) -> Result<ValueId, ImportError> {
    let [n, channels, size, height, width] = five(node, input)?;
    let [filters, per_group, kernel, rows, columns] = five(node, filter)?;
    let (window, after) = depth.window([size, 1]);
    let (stride, dilation, before) = (window.strides[0], window.dilations[0], window.pads[0]);
    let padded = size + before + after[0];
    let Some(planes) = window.positions(0, padded) else {
        return Err(node.refuse("has a filter that is larger than the padded input"));
    };
    let input = node.unslice(input, &[0, 0, before, 0, 0], &[n, channels, padded, height, width])?;
    let input = node.transpose(input, &EXCHANGED)?;
    node.fits(&[n, planes, channels, kernel, height, width])?;
    let mut below = Vec::with_capacity(kernel);
    for offset in 0..kernel {
        let (starts, steps) = ([0, offset * dilation, 0, 0, 0], [1, stride as isize, 1, 1, 1]);
        let part = node.slice(input, &starts, &steps, &[n, planes, channels, height, width])?;
        below.push(node.reshape(part, &[n, planes, channels, 1, height, width])?);
        node.check_graph()?;
    }
    let input = node.concat(&below, 3)?;
    let input = node.reshape(input, &[n * planes, channels * kernel, height, width])?;
    let filter = node.reshape(filter, &[filters, per_group * kernel, rows, columns])?;
    let result = plane::convolution(node, input, filter, flat, groups)?;
    as_volume(node, result, n, planes)
}

/// The transposed convolution of `[N, C, D, H, W]` with `[C, M / groups, kD, kH, kW]`: each plane gives `kD` planes,
/// which are added where they overlap.
pub(super) fn transposed(
    node: &mut NodeLowering<'_>,
    input: ValueId,
    filter: ValueId,
    [depth, flat]: &[Geometry; 2],
    [depth_size, flat_size]: &[Size; 2],
    groups: usize,
) -> Result<ValueId, ImportError> {
    let [n, channels, size, height, width] = five(node, input)?;
    let [_, per_group, kernel, rows, columns] = five(node, filter)?;
    let (window, [planes, _]) = transposed_window(node, depth, depth_size, [size, 1])?;
    let (stride, dilation, before) = (window.strides[0], window.dilations[0], window.pads[0]);
    let input = node.transpose(input, &EXCHANGED)?;
    let input = node.reshape(input, &[n * size, channels, height, width])?;
    let filter = node.reshape(filter, &[channels, per_group * kernel, rows, columns])?;
    let result = plane::transposed(node, input, filter, flat, flat_size, groups)?;
    let [_, _, height, width] = *node.shape(result) else {
        return Err(node.refuse("has an intermediate result without height and width"));
    };
    let filters = per_group * groups;
    let result = node.reshape(result, &[n, size, filters, kernel, height, width])?;
    // The planes before cropping, up to the last one that is kept.
    let reach = ((size - 1) * stride + window.span(0)).max(before.saturating_add(planes));
    let whole = [n, reach, filters, height, width];
    node.fits(&whole)?;
    let mut sum = None;
    for offset in 0..kernel {
        let part = node.slice_axis(result, 3, offset, 1)?;
        let part = node.reshape(part, &[n, size, filters, height, width])?;
        let (starts, steps) = ([0, offset * dilation, 0, 0, 0], [1, stride as isize, 1, 1, 1]);
        let part = node.graph.unslice(part, &starts, &steps, &whole).map_err(|source| node.misfit(source))?;
        sum = Some(match sum {
            None => part,
            Some(sum) => node.binary(ElementOp::Add, sum, part)?,
        });
        node.check_graph()?;
    }
    let sum = sum.ok_or_else(|| node.refuse("has an empty filter"))?;
    let kept = node.slice_axis(sum, 1, before, planes)?;
    node.transpose(kept, &EXCHANGED)
}

/// Pools `[N, C, D, H, W]`: every plane, and then the depth.
pub(super) fn pool(
    node: &mut NodeLowering<'_>,
    input: ValueId,
    [depth, flat]: &[Geometry; 2],
    rounds_up: bool,
    op: impl Fn(Window, [usize; 2]) -> Op,
) -> Result<ValueId, ImportError> {
    let [n, channels, size, height, width] = five(node, input)?;
    let planes = node.reshape(input, &[n, channels * size, height, width])?;
    let planes = plane::pool(node, planes, flat, rounds_up, &op)?;
    let [_, _, height, width] = *node.shape(planes) else {
        return Err(node.refuse("has an intermediate result without height and width"));
    };
    let columns = node.reshape(planes, &[n, channels, size, height * width])?;
    let columns = plane::pool(node, columns, depth, rounds_up, &op)?;
    let size = node.graph.shape(columns)[2];
    node.reshape(columns, &[n, channels, size, height, width])
}

/// `[N · planes, M, H, W]` as `[N, M, planes, H, W]`.
fn as_volume(
    node: &mut NodeLowering<'_>,
    value: ValueId,
    n: usize,
    planes: usize,
) -> Result<ValueId, ImportError> {
    let [_, channels, height, width] = *node.shape(value) else {
        return Err(node.refuse("has an intermediate result without height and width"));
    };
    let value = node.reshape(value, &[n, planes, channels, height, width])?;
    node.transpose(value, &EXCHANGED)
}

fn five(node: &NodeLowering<'_>, value: ValueId) -> Result<[usize; 5], ImportError> {
    <[usize; 5]>::try_from(node.shape(value))
        .map_err(|_| node.refuse("does not have three spatial dimensions"))
}
