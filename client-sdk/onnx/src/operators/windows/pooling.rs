//! Pooling over windows of one to three dimensions, and global pooling.

use super::geometry::{Geometry, spatial_dimensions, with_as_many, with_two};
use super::{NodeLowering, Outputs, plane, volume};
use crate::ImportError;
use crate::attributes::Attributes;
use folkmoot_graph::op::{Op, Reduction, Window};

const ATTRIBUTES: [&str; 6] = ["auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"];

/// `MaxPool`, without the second output (positions).
pub(in super::super) fn maximum(node: &mut NodeLowering<'_>) -> Outputs {
    // `storage_order` only affects positions, which are not computed.
    let attributes = node.attributes(&[&ATTRIBUTES[..], &["storage_order"]].concat())?;
    if node.names_output(1) {
        return Err(node.refuse("returns the positions of the maxima, which is not supported"));
    }
    pool(node, &attributes, |window, _| Op::MaxPool { window })
}

/// `AveragePool`
pub(in super::super) fn average(node: &mut NodeLowering<'_>) -> Outputs {
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
    let rounds_up = attributes.flag("ceil_mode")?;
    if dimensions == 3 {
        let geometry = Geometry::of_volume(node, attributes, None)?;
        return Ok(vec![input.with(volume::pool(node, input.value, &geometry, rounds_up, op)?)]);
    }
    let geometry = Geometry::new(node, attributes, dimensions, None)?;
    let two = with_two(node, input.value)?;
    let result = plane::pool(node, two, &geometry, rounds_up, op)?;
    Ok(vec![input.with(with_as_many(node, result, dimensions)?)])
}

/// The mean of each channel.
pub(in super::super) fn global_average(node: &mut NodeLowering<'_>) -> Outputs {
    let axes = spatial_axes(node)?;
    let input = node.input(0)?;
    Ok(vec![input.with(node.mean(input.value, &axes)?)])
}

/// The maximum of each channel.
pub(in super::super) fn global_maximum(node: &mut NodeLowering<'_>) -> Outputs {
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
