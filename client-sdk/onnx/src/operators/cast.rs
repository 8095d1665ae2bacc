//! `Cast` and `CastLike`. Only casts to integers and booleans change values: the executor decides the float precision.

use super::{NodeLowering, Outputs};
use crate::node::Tensor;
use crate::tensor::ElementType;
use folkmoot_graph::op::ElementOp;

/// Casts to the type that an attribute names.
pub(super) fn cast(node: &mut NodeLowering<'_>) -> Outputs {
    // The other two attributes only affect eight-bit floats.
    let to = node.attributes(&["to", "saturate", "round_mode"])?.integer("to", 0)?;
    node.expect_inputs(1..=1)?;
    let element_type = i32::try_from(to).ok().and_then(ElementType::of);
    let element_type = element_type
        .ok_or_else(|| node.refuse(&format!("casts to element type {to}, which is not supported")))?;
    convert(node, element_type)
}

/// Casts to the type of the second input.
pub(super) fn cast_like(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&["saturate", "round_mode"])?;
    node.expect_inputs(2..=2)?;
    let element_type = node.input(1)?.element_type;
    convert(node, element_type)
}

fn convert(node: &mut NodeLowering<'_>, to: ElementType) -> Outputs {
    let Tensor { value, element_type } = node.input(0)?;
    let is_empty = node.graph.shape(value).contains(&0);
    let value = match (element_type, to) {
        _ if is_empty || element_type == to => value,
        (ElementType::Float, ElementType::Integer) => node.unary(ElementOp::Truncate, value)?,
        (_, ElementType::Boolean) => {
            let is_zero = node.unary(ElementOp::Not, value)?;
            node.unary(ElementOp::Not, is_zero)?
        }
        _ => value,
    };
    Ok(vec![Tensor { value, element_type: to }])
}
