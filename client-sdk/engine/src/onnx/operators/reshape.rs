//! `Flatten` and `Reshape`: both become a reshape to a shape that is known except for the batch size.

use super::{Attributes, Binding, ImportError, Importer, NodeProto, expect_inputs, unsupported_use, value};
use crate::graph::{Dim, Op, Shape, volume};
use crate::onnx::attributes::node_name;
use crate::onnx::limits::RANK_MAX;

/// `Flatten` around `axis`: the dimensions before it become the first, the others the second.
pub(super) fn flatten(importer: &mut Importer<'_>, node: &NodeProto) -> Result<(), ImportError> {
    let axis = Attributes::new(node, &["axis"])?.integer("axis", 1)?;
    expect_inputs(node, 1..=1)?;
    let input = value(importer, node, 0)?;
    let dims = &importer.graph.shape(input).0;
    let from_the_end = if axis < 0 { dims.len() as i64 } else { 0 };
    let split = usize::try_from(axis.saturating_add(from_the_end)).ok().filter(|split| *split <= dims.len());
    let Some(split) = split else {
        return Err(unsupported_use(
            node,
            &format!("has axis {axis}, the input has {} dimensions", dims.len()),
        ));
    };
    let shape = Shape(vec![merged(node, &dims[..split])?, merged(node, &dims[split..])?]);
    importer.add(node, Op::Reshape { shape }, vec![input])
}

/// `Reshape` to constant dimensions: 0 copies the input's dimension, one -1 takes what is left.
pub(super) fn reshape(importer: &mut Importer<'_>, node: &NodeProto) -> Result<(), ImportError> {
    let zero_is_zero = Attributes::new(node, &["allowzero"])?.flag("allowzero")?;
    expect_inputs(node, 2..=2)?;
    let input = value(importer, node, 0)?;
    let Binding::Integers(wanted) = importer.input(node, 1)? else {
        return Err(unsupported_use(node, "reads a shape that is not a constant of int64"));
    };
    if zero_is_zero && wanted.contains(&0) {
        return Err(unsupported_use(node, "makes an empty tensor"));
    }
    let shape = target_shape(node, &importer.graph.shape(input).0, wanted)?;
    importer.add(node, Op::Reshape { shape }, vec![input])
}

fn target_shape(node: &NodeProto, from: &[Dim], wanted: &[i64]) -> Result<Shape, ImportError> {
    if wanted.len() > RANK_MAX {
        return Err(unsupported_use(node, "makes a tensor of too many dimensions"));
    }
    let mut open = None;
    let mut dims = Vec::new();
    for (position, size) in wanted.iter().enumerate() {
        dims.push(match (size, usize::try_from(*size)) {
            (-1, _) if open.is_none() => {
                open = Some(position);
                Dim::Fixed(1)
            }
            (0, _) => match from.get(position) {
                Some(dim) => *dim,
                None => return Err(unsupported_use(node, "copies a dimension that the input does not have")),
            },
            (_, Ok(size)) => Dim::Fixed(size),
            _ => return Err(unsupported_use(node, &format!("has the invalid dimension {size}"))),
        });
    }
    if let Some(position) = open {
        dims[position] = remaining(node, from, &dims)?;
    }
    Ok(Shape(dims))
}

/// The dimension that brings `dims` to as many elements as `from`.
fn remaining(node: &NodeProto, from: &[Dim], dims: &[Dim]) -> Result<Dim, ImportError> {
    let at_node = |source| ImportError::Shape { node: node_name(node), source };
    let (total, total_power) = volume(from).map_err(at_node)?;
    let (known, known_power) = volume(dims).map_err(at_node)?;
    match (total.is_multiple_of(known), total_power.checked_sub(known_power)) {
        (true, Some(0)) => Ok(Dim::Fixed(total / known)),
        (true, Some(1)) => Ok(Dim::Batch(total / known)),
        _ => Err(unsupported_use(node, "has no whole number for the dimension -1")),
    }
}

fn merged(node: &NodeProto, dims: &[Dim]) -> Result<Dim, ImportError> {
    remaining(node, dims, &[])
}
