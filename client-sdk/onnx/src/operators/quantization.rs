//! `DequantizeLinear`: integers of few bits as floats, for weights that are stored small and stay frozen.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::node::Tensor;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

/// `(x - zero point) · scale`, with one scale for the tensor, for each position of an axis, or for each block of an
/// axis. Scale and zero point are never trained.
pub(super) fn dequantize(node: &mut NodeLowering<'_>) -> Outputs {
    // The executor decides the precision of the result, which `output_dtype` names.
    let attributes = node.attributes(&["axis", "block_size", "output_dtype"])?;
    node.expect_inputs(2..=3)?;
    let (x, scale) = (node.value(0)?, node.value(1)?);
    let (axis, block) = (attributes.integer("axis", 1)?, attributes.integer("block_size", 0)?);
    let mut value = x;
    if let Some(zero) = node.optional(2) {
        let zero = spread(node, zero.value, x, axis, block)?;
        value = node.binary(ElementOp::Subtract, value, zero)?;
    }
    let scale = spread(node, scale, x, axis, block)?;
    Ok(vec![Tensor::float(node.binary(ElementOp::Multiply, value, scale)?)])
}

/// Returns a scale or zero point in a shape that broadcasts to that of `x`.
fn spread(
    node: &mut NodeLowering<'_>,
    value: ValueId,
    x: ValueId,
    axis: i64,
    block: i64,
) -> Result<ValueId, ImportError> {
    let (own, shape) = (node.shape(value), node.shape(x));
    if own.iter().all(|size| *size == 1) {
        return node.reshape(value, &[]);
    }
    let axis = node.axis(axis, shape.len())?;
    let misfit = || format!("has a scale or zero point of shape {own:?} for a tensor of shape {shape:?}");
    if block == 0 {
        if own != [shape[axis]] {
            return Err(node.refuse(&misfit()));
        }
        let mut along = vec![1; shape.len()];
        along[axis] = shape[axis];
        return node.reshape(value, &along);
    }
    let block = usize::try_from(block).ok().filter(|block| (1..=1 << 28).contains(block));
    let block = block.ok_or_else(|| node.refuse("has a block_size below 0"))?;
    let mut blocks = shape.clone();
    blocks[axis] = shape[axis].div_ceil(block);
    if own != blocks {
        return Err(node.refuse(&misfit()));
    }
    // Repeats every block's number and drops what is beyond the end.
    let (mut apart, mut repeated, mut whole) = (own.clone(), own.clone(), own.clone());
    apart.insert(axis + 1, 1);
    repeated.insert(axis + 1, block);
    whole[axis] = own[axis] * block;
    node.fits(&whole)?;
    let value = node.reshape(value, &apart)?;
    let value = node.broadcast_to(value, &repeated)?;
    let value = node.reshape(value, &whole)?;
    node.slice_axis(value, axis, 0, shape[axis])
}
