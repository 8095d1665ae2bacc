//! Operators that reshape, reorder or concatenate elements.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::limits::RANK_MAX;
use crate::node::Tensor;
use folkmoot_graph::op::volume;

/// `Reshape`: 0 copies the input's dimension, and one -1 is inferred from the rest.
pub(super) fn reshape(node: &mut NodeLowering<'_>) -> Outputs {
    let zero_is_zero = node.attributes(&["allowzero"])?.flag("allowzero")?;
    node.expect_inputs(2..=2)?;
    let input = node.input(0)?;
    let wanted = node.known_integers(1)?.unwrap_or_default();
    let from = node.shape(input.value);
    let copied = if zero_is_zero { None } else { Some(&from[..]) };
    let shape = target_shape(node, copied, &wanted, volume(&from))?;
    Ok(vec![input.with(node.reshape(input.value, &shape)?)])
}

/// Returns the target shape for `total` elements. A 0 in `wanted` copies the size of `copied` at the same position;
/// without `copied` it stays 0.
fn target_shape(
    node: &NodeLowering<'_>,
    copied: Option<&[usize]>,
    wanted: &[i64],
    total: usize,
) -> Result<Vec<usize>, ImportError> {
    if wanted.len() > RANK_MAX {
        return Err(node
            .refuse(&format!("creates a tensor with {} dimensions; the limit is {RANK_MAX}", wanted.len())));
    }
    let mut open = None;
    let mut shape = Vec::new();
    for (position, size) in wanted.iter().enumerate() {
        shape.push(match (size, usize::try_from(*size)) {
            (-1, _) if open.is_none() => {
                open = Some(position);
                1
            }
            (0, _) => match copied.map(|sizes| sizes.get(position)) {
                None => 0,
                Some(Some(size)) => *size,
                Some(None) => return Err(node.refuse("copies a dimension that the input does not have")),
            },
            (_, Ok(size)) => size,
            _ => {
                let advice = "only one dimension may be -1, and all others must be 0 or more";
                return Err(node.refuse(&format!("has the invalid dimension {size}; {advice}")));
            }
        });
    }
    if let Some(position) = open {
        let known = node.fits(&shape)?;
        if known == 0 || !total.is_multiple_of(known) {
            return Err(node.refuse("cannot infer the dimension -1: the sizes do not divide evenly"));
        }
        shape[position] = total / known;
    }
    Ok(shape)
}

/// `Flatten` at `axis`: merges the dimensions before it into one, and all others into a second one.
pub(super) fn flatten(node: &mut NodeLowering<'_>) -> Outputs {
    let axis = node.attributes(&["axis"])?.integer("axis", 1)?;
    node.expect_inputs(1..=1)?;
    let input = node.input(0)?;
    let shape = node.shape(input.value);
    // The axis may also be equal to the rank.
    let split = if axis == shape.len() as i64 { shape.len() } else { node.axis(axis, shape.len())? };
    let flat = [volume(&shape[..split]), volume(&shape[split..])];
    Ok(vec![input.with(node.reshape(input.value, &flat)?)])
}

/// `Transpose`: without a permutation, reverses the axes.
pub(super) fn transpose(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["perm"])?;
    node.expect_inputs(1..=1)?;
    let input = node.input(0)?;
    let rank = node.graph.shape(input.value).len();
    let axes = match attributes.integers("perm")? {
        Some(axes) => axes.iter().map(|axis| node.axis(*axis, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).rev().collect(),
    };
    Ok(vec![input.with(node.transpose(input.value, &axes)?)])
}

/// `Squeeze`: removes the given axes of size 1, or all axes of size 1.
pub(super) fn squeeze(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["axes"])?;
    node.expect_inputs(1..=2)?;
    let input = node.input(0)?;
    let shape = node.shape(input.value);
    let axes = match node.integers(&attributes, "axes", 1)? {
        Some(axes) => node.axes(&axes, shape.len())?,
        None => (0..shape.len()).filter(|axis| shape[*axis] == 1).collect(),
    };
    if axes.iter().any(|axis| shape[*axis] != 1) {
        return Err(node.refuse("removes a dimension that is not 1"));
    }
    let left: Vec<usize> =
        (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
    Ok(vec![input.with(node.reshape(input.value, &left)?)])
}

/// `Unsqueeze`: inserts axes of size 1; the positions are those in the result.
pub(super) fn unsqueeze(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["axes"])?;
    node.expect_inputs(1..=2)?;
    let input = node.input(0)?;
    let Some(axes) = node.integers(&attributes, "axes", 1)? else {
        return Err(node.refuse("lacks axes"));
    };
    if axes.len() > RANK_MAX {
        return Err(node.refuse(&format!("adds {} dimensions; the limit is {RANK_MAX}", axes.len())));
    }
    let shape = node.shape(input.value);
    let rank = shape.len() + axes.len();
    let axes = node.axes(&axes, rank)?;
    let mut sizes = shape.into_iter();
    let size = |axis: usize| if axes.contains(&axis) { 1 } else { sizes.next().unwrap_or(1) };
    let larger: Vec<usize> = (0..rank).map(size).collect();
    Ok(vec![input.with(node.reshape(input.value, &larger)?)])
}

/// `Identity`
pub(super) fn identity(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    node.expect_inputs(1..=1)?;
    Ok(vec![node.input(0)?])
}

/// `Concat`: concatenates along an axis. Empty tensors contribute nothing.
pub(super) fn concat(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["axis"])?;
    if !attributes.has("axis") {
        return Err(node.refuse("lacks an axis"));
    }
    let first = node.input(0)?;
    let rank = node.graph.shape(first.value).len();
    let axis = node.axis(attributes.integer("axis", 0)?, rank)?;
    let tensors: Vec<Tensor> =
        (0..node.inputs.len()).map(|position| node.input(position)).collect::<Result<_, _>>()?;
    let (mut parts, mut sizes) = (Vec::new(), Vec::new());
    for tensor in tensors {
        let shape = node.graph.shape(tensor.value);
        if shape.len() != rank {
            return Err(node.refuse("concatenates tensors with different numbers of dimensions"));
        }
        sizes.push(shape[axis]);
        if !shape.contains(&0) {
            parts.push(tensor.value);
        }
    }
    if parts.is_empty() {
        let mut shape = node.shape(first.value);
        shape[axis] = sizes.into_iter().fold(0, usize::saturating_add);
        node.fits(&shape)?;
        return Ok(vec![first.with(node.empty(&shape))]);
    }
    Ok(vec![first.with(node.concat(&parts, axis)?)])
}

/// `DepthToSpace`: moves channels into blocks of positions. In mode DCR, the channels of `[N, C, H, W]` are
/// `[block, block, C / block²]`; in mode CRD they are `[C / block², block, block]`.
pub(super) fn depth_to_space(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["blocksize", "mode"])?;
    let block = block_size(node, attributes.integer("blocksize", 0)?)?;
    let (input, [n, channels, height, width]) = image(node)?;
    if !channels.is_multiple_of(block * block) {
        return Err(
            node.refuse(&format!("cannot divide {channels} channels into blocks of {block} by {block}"))
        );
    }
    let left = channels / (block * block);
    let (split, axes) = match attributes.text("mode")?.unwrap_or("DCR") {
        "DCR" => ([n, block, block, left, height, width], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, left, block, block, height, width], [0, 1, 4, 2, 5, 3]),
        other => return Err(node.refuse(&format!("has the mode {other}; DCR and CRD are supported"))),
    };
    let value = node.reshape(input.value, &split)?;
    let value = node.transpose(value, &axes)?;
    Ok(vec![input.with(node.reshape(value, &[n, left, height * block, width * block])?)])
}

/// `SpaceToDepth`: moves the positions of each block into channels. They are `[block, block, C]` in mode DCR and
/// `[C, block, block]` in mode CRD.
pub(super) fn space_to_depth(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["blocksize", "mode"])?;
    let block = block_size(node, attributes.integer("blocksize", 0)?)?;
    let (input, [n, channels, height, width]) = image(node)?;
    if !height.is_multiple_of(block) || !width.is_multiple_of(block) {
        return Err(
            node.refuse(&format!("cannot divide {height} by {width} positions into blocks of {block}"))
        );
    }
    let axes = match attributes.text("mode")?.unwrap_or("DCR") {
        "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        other => return Err(node.refuse(&format!("has the mode {other}; DCR and CRD are supported"))),
    };
    let [rows, columns] = [height / block, width / block];
    let value = node.reshape(input.value, &[n, channels, rows, block, columns, block])?;
    let value = node.transpose(value, &axes)?;
    Ok(vec![input.with(node.reshape(value, &[n, channels * block * block, rows, columns])?)])
}

/// Checks a block size. Its square does not overflow.
fn block_size(node: &NodeLowering<'_>, size: i64) -> Result<usize, ImportError> {
    let size = usize::try_from(size).ok().filter(|size| (1..=1 << 15).contains(size));
    size.ok_or_else(|| node.refuse("has an invalid blocksize; it must be from 1 to 32768"))
}

/// Returns the only input, `[N, C, H, W]`.
fn image(node: &NodeLowering<'_>) -> Result<(Tensor, [usize; 4]), ImportError> {
    node.expect_inputs(1..=1)?;
    let input = node.input(0)?;
    let shape = <[usize; 4]>::try_from(node.shape(input.value));
    let shape = shape.map_err(|shape| {
        node.refuse(&format!("reads a tensor with {} dimensions; it must have 4", shape.len()))
    })?;
    Ok((input, shape))
}
