//! `Conv` and `ConvTranspose` over one to three dimensions.

use super::geometry::{Geometry, pair, spatial_dimensions, with_as_many, with_two};
use super::plane::{self, Size};
use super::{NodeLowering, Outputs, volume};
use crate::ImportError;
use crate::attributes::Attributes;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

const ATTRIBUTES: [&str; 6] = ["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"];

/// `Conv`: input `[N, C, …]`, filter `[M, C / groups, …]`, bias `[M]`.
pub(in super::super) fn convolution(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&ATTRIBUTES)?;
    let Operands { dimensions, groups, input, filter } = operands(node, &attributes)?;
    let kernel = node.shape(node.value(1)?)[2..].to_vec();
    let result = if dimensions == 3 {
        let geometry = Geometry::of_volume(node, &attributes, Some(&kernel))?;
        volume::convolution(node, input, filter, &geometry, groups)?
    } else {
        let geometry = Geometry::new(node, &attributes, dimensions, Some(&kernel))?;
        plane::convolution(node, input, filter, &geometry, groups)?
    };
    finish(node, result, dimensions)
}

/// `ConvTranspose`: input `[N, C, …]`, filter `[C, M / groups, …]`, bias `[M]`.
pub(in super::super) fn transposed(node: &mut NodeLowering<'_>) -> Outputs {
    let known = [&ATTRIBUTES[..], &["output_padding", "output_shape"]].concat();
    let attributes = node.attributes(&known)?;
    let Operands { dimensions, groups, input, filter } = operands(node, &attributes)?;
    let kernel = node.shape(node.value(1)?)[2..].to_vec();
    let (channels, filter_channels) = (node.graph.shape(input)[1], node.graph.shape(filter)[0]);
    if channels != filter_channels || !channels.is_multiple_of(groups) {
        return Err(node.refuse("has a filter whose number of channels differs from the input's"));
    }
    let extra = spatial(node, &attributes, "output_padding", dimensions)?;
    let wanted = spatial(node, &attributes, "output_shape", dimensions)?;
    let result = if dimensions == 3 {
        let geometry = Geometry::of_volume(node, &attributes, Some(&kernel))?;
        let first = |numbers: &Vec<usize>, missing| [numbers[0], missing];
        let sizes = [
            Size {
                extra: extra.as_ref().map(|all| first(all, 0)),
                wanted: wanted.as_ref().map(|all| first(all, 1)),
            },
            Size { extra: extra.map(|all| pair(&all[1..], 0)), wanted: wanted.map(|all| pair(&all[1..], 1)) },
        ];
        volume::transposed(node, input, filter, &geometry, &sizes, groups)?
    } else {
        let geometry = Geometry::new(node, &attributes, dimensions, Some(&kernel))?;
        let size = Size { extra: extra.map(|all| pair(&all, 0)), wanted: wanted.map(|all| pair(&all, 1)) };
        plane::transposed(node, input, filter, &geometry, &size, groups)?
    };
    finish(node, result, dimensions)
}

/// Reads an attribute with one number, 0 or more, for each spatial dimension.
fn spatial(
    node: &NodeLowering<'_>,
    attributes: &Attributes<'_>,
    name: &str,
    dimensions: usize,
) -> Result<Option<Vec<usize>>, ImportError> {
    let Some(numbers) = attributes.integers(name)? else { return Ok(None) };
    let numbers: Option<Vec<usize>> = numbers
        .iter()
        .map(|number| usize::try_from(*number).ok().filter(|number| *number <= 1 << 28))
        .collect();
    match numbers.filter(|numbers| numbers.len() == dimensions) {
        Some(numbers) => Ok(Some(numbers)),
        None => {
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

/// Returns the input and the filter with two or three spatial dimensions, and their original number of spatial
/// dimensions.
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

/// Adds the bias, and removes the spatial dimension if one was added.
fn finish(node: &mut NodeLowering<'_>, result: ValueId, dimensions: usize) -> Outputs {
    let mut result = result;
    if let Some(bias) = node.optional(2) {
        let mut by_channel = vec![1; node.graph.shape(result).len()];
        by_channel[1] = node.graph.shape(result)[1];
        let bias = node.reshape(bias.value, &by_channel)?;
        result = node.binary(ElementOp::Add, result, bias)?;
    }
    let input = node.input(0)?;
    Ok(vec![input.with(with_as_many(node, result, dimensions)?)])
}
