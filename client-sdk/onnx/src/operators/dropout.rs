//! `Dropout` (Srivastava et al. 2014), inverted: training scales up the kept elements.

use super::{NodeLowering, Outputs};
use crate::mode::Mode;
use crate::node::Tensor;
use folkmoot_graph::op::ElementOp;

/// Returns the output and the mask of kept elements.
pub(super) fn dropout(node: &mut NodeLowering<'_>) -> Outputs {
    // The attribute `seed` is ignored: the training plan's seed is used.
    let attributes = node.attributes(&["ratio", "seed"])?;
    node.expect_inputs(1..=3)?;
    let ratio = match node.known_number(1)? {
        Some(ratio) => ratio,
        None => attributes.float("ratio", 0.5)?.into(),
    };
    let is_written = node.known_number(2)?.is_some_and(|flag| flag != 0.0);
    if !(0.0..1.0).contains(&ratio) {
        return Err(node.refuse(&format!("has the ratio {ratio}; it must be 0 or more and below 1")));
    }
    let x = node.input(0)?;
    let shape = node.shape(x.value);
    let drops = match node.mode {
        Mode::Training => true,
        Mode::Inference => false,
        Mode::AsWritten => is_written,
    };
    if !drops || ratio == 0.0 {
        let one = node.graph.add_scalar(1.0);
        let mask = if node.names_output(1) { node.broadcast_to(one, &shape)? } else { one };
        return Ok(vec![x, Tensor::boolean(mask)]);
    }
    if node.mode == Mode::AsWritten {
        return Err(node.refuse("drops elements at random, so its result is not defined"));
    }
    let random = node.graph.random(&shape);
    let is_dropped = node.with_number(ElementOp::Less, random, ratio)?;
    let mask = node.unary(ElementOp::Not, is_dropped)?;
    let kept = node.binary(ElementOp::Multiply, x.value, mask)?;
    let scaled = node.with_number(ElementOp::Multiply, kept, 1.0 / (1.0 - ratio))?;
    Ok(vec![x.with(scaled), Tensor::boolean(mask)])
}
