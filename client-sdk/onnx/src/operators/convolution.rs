//! `Conv` and `ConvTranspose` over one or two dimensions.

use super::geometry::{Geometry, Padding, spatial_dimensions, split, with_as_many, with_two};
use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::attributes::Attributes;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{ElementOp, Window};

const ATTRIBUTES: [&str; 6] = ["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"];

/// `Conv`: input `[N, C, …]`, filter `[M, C / groups, …]`, bias `[M]`.
pub(super) fn convolution(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&ATTRIBUTES)?;
    let Operands { dimensions, groups, input, filter } = operands(node, &attributes)?;
    let kernel = node.shape(node.value(1)?)[2..].to_vec();
    let geometry = Geometry::new(node, &attributes, dimensions, Some(&kernel))?;
    let [n, _, height, width] = four(node, input)?;
    let (window, after) = geometry.window([height, width]);
    let positions = |axis: usize, size: usize| window.positions(axis, size + window.pads[axis] + after[axis]);
    let (Some(rows), Some(columns)) = (positions(0, height), positions(1, width)) else {
        return Err(node.refuse("has a filter that is larger than the padded input"));
    };
    node.fits(&[n, node.graph.shape(filter)[0], rows, columns])?;
    let result = node.graph.conv(input, filter, window, after, groups);
    let result = result.map_err(|source| node.misfit(source))?;
    finish(node, result, dimensions)
}

/// `ConvTranspose`: input `[N, C, …]`, filter `[C, M / groups, …]`, bias `[M]`.
///
/// The result is the input gradient of a convolution that maps the result's shape to the input's shape.
pub(super) fn transposed(node: &mut NodeLowering<'_>) -> Outputs {
    let known = [&ATTRIBUTES[..], &["output_padding", "output_shape"]].concat();
    let attributes = node.attributes(&known)?;
    let Operands { dimensions, groups, input, filter } = operands(node, &attributes)?;
    let kernel = node.shape(node.value(1)?)[2..].to_vec();
    let geometry = Geometry::new(node, &attributes, dimensions, Some(&kernel))?;
    let [n, channels, height, width] = four(node, input)?;
    let [filter_channels, per_group, ..] = four(node, filter)?;
    if channels != filter_channels || !channels.is_multiple_of(groups) {
        return Err(node.refuse("has a filter whose number of channels differs from the input's"));
    }
    let (window, size) = transposed_window(node, &attributes, &geometry, dimensions, [height, width])?;
    let shape = [n, per_group.saturating_mul(groups), size[0], size[1]];
    node.fits(&shape)?;
    let result = node.graph.conv_input_gradient(input, filter, window, groups, &shape);
    finish(node, result, dimensions)
}

/// Returns the window and the output's size.
fn transposed_window(
    node: &NodeLowering<'_>,
    attributes: &Attributes<'_>,
    geometry: &Geometry,
    dimensions: usize,
    size: [usize; 2],
) -> Result<(Window, [usize; 2]), ImportError> {
    let Geometry { kernel, strides, dilations, padding } = *geometry;
    let window = |pads| Window { kernel, strides, dilations, pads };
    let extra = spatial(node, attributes, "output_padding", dimensions)?.unwrap_or([0; 2]);
    let wanted = spatial(node, attributes, "output_shape", dimensions)?;
    let (mut pads, mut output) = ([0; 2], [0; 2]);
    for axis in [0, 1] {
        let reach = (size[axis] - 1)
            .checked_mul(strides[axis])
            .and_then(|reach| reach.checked_add(window([0; 2]).span(axis) + extra[axis]));
        let reach = reach.ok_or_else(|| node.refuse("makes a tensor whose size overflows"))?;
        let wanted = match (wanted, padding) {
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

/// Reads an attribute with one number, 0 or more, for each spatial dimension. A missing dimension of `output_shape` is
/// 1.
fn spatial(
    node: &NodeLowering<'_>,
    attributes: &Attributes<'_>,
    name: &str,
    dimensions: usize,
) -> Result<Option<[usize; 2]>, ImportError> {
    let Some(numbers) = attributes.integers(name)? else { return Ok(None) };
    let numbers: Option<Vec<usize>> = numbers
        .iter()
        .map(|number| usize::try_from(*number).ok().filter(|number| *number <= 1 << 28))
        .collect();
    let missing = usize::from(name == "output_shape");
    match numbers.as_deref() {
        Some([width]) if dimensions == 1 => Ok(Some([missing, *width])),
        Some([height, width]) if dimensions == 2 => Ok(Some([*height, *width])),
        _ => {
            Err(node.refuse(&format!("has an invalid {name}; it needs a number for each spatial dimension")))
        }
    }
}

struct Operands {
    dimensions: usize,
    groups: usize,
    input: ValueId,
    filter: ValueId,
}

/// Returns the input and the filter with two spatial dimensions, and their original number of spatial dimensions.
fn operands(node: &mut NodeLowering<'_>, attributes: &Attributes<'_>) -> Result<Operands, ImportError> {
    node.expect_inputs(2..=3)?;
    let (input, filter) = (node.value(0)?, node.value(1)?);
    let dimensions = spatial_dimensions(node, input)?;
    if spatial_dimensions(node, filter)? != dimensions {
        return Err(node.refuse("has a filter whose number of dimensions differs from the input's"));
    }
    let groups = attributes.integer("group", 1)?;
    let groups = usize::try_from(groups).ok().filter(|groups| (1..=1 << 28).contains(groups));
    let groups = groups.ok_or_else(|| node.refuse("has an invalid group; it must be from 1 to 2^28"))?;
    let (input, filter) = (with_two(node, input)?, with_two(node, filter)?);
    Ok(Operands { dimensions, groups, input, filter })
}

fn four(node: &NodeLowering<'_>, value: ValueId) -> Result<[usize; 4], ImportError> {
    let shape = node.shape(value);
    <[usize; 4]>::try_from(shape).map_err(|_| node.refuse("does not have two spatial dimensions"))
}

/// Adds the bias, and removes the spatial dimension if one was added.
fn finish(node: &mut NodeLowering<'_>, result: ValueId, dimensions: usize) -> Outputs {
    let mut result = result;
    if let Some(bias) = node.optional(2) {
        let channels = node.graph.shape(result)[1];
        let bias = node.reshape(bias.value, &[1, channels, 1, 1])?;
        result = node.binary(ElementOp::Add, result, bias)?;
    }
    let input = node.input(0)?;
    Ok(vec![input.with(with_as_many(node, result, dimensions)?)])
}
