//! Matrix products.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::node::Tensor;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

/// `alpha op(A) op(B) + beta C`
pub(super) fn gemm(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["alpha", "beta", "transA", "transB"])?;
    let (alpha, beta) = (attributes.float("alpha", 1.0)?, attributes.float("beta", 1.0)?);
    let transpose = [attributes.flag("transA")?, attributes.flag("transB")?];
    node.expect_inputs(2..=3)?;
    let (a, b) = (node.input(0)?, node.value(1)?);
    if [a.value, b].iter().any(|value| node.graph.shape(*value).len() != 2) {
        return Err(node.refuse("multiplies tensors that are not matrices"));
    }
    let product = node.matmul(a.value, b, transpose)?;
    let scaled = node.with_number(ElementOp::Multiply, product, alpha.into())?;
    let Some(c) = node.optional(2) else {
        return Ok(vec![a.with(scaled)]);
    };
    let bias = node.with_number(ElementOp::Multiply, c.value, beta.into())?;
    let sum = node.binary(ElementOp::Add, scaled, bias)?;
    if node.shape(sum) != node.shape(product) {
        return Err(node.refuse("adds a tensor that does not broadcast to the product's shape"));
    }
    Ok(vec![a.with(sum)])
}

/// `MatMul` by NumPy's rules: a vector is a row on the left and a column on the right.
pub(super) fn matmul(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    node.expect_inputs(2..=2)?;
    let (a, b) = (node.input(0)?, node.value(1)?);
    Ok(vec![a.with(product(node, a, b)?)])
}

fn product(node: &mut NodeLowering<'_>, a: Tensor, b: ValueId) -> Result<ValueId, ImportError> {
    let a = a.value;
    let (left, right) = (node.shape(a), node.shape(b));
    match (&left[..], &right[..]) {
        ([], _) | (_, []) => Err(node.refuse("has a scalar input; it must have one dimension or more")),
        ([k], [l]) => {
            let (row, column) = (node.reshape(a, &[1, *k])?, node.reshape(b, &[*l, 1])?);
            let product = node.matmul(row, column, [false, false])?;
            node.reshape(product, &[])
        }
        ([k], [batch @ .., _, n]) => {
            let row = node.reshape(a, &[1, *k])?;
            let product = node.matmul(row, b, [false, false])?;
            node.reshape(product, &[batch, &[*n]].concat())
        }
        ([batch @ .., m, _], [l]) => {
            let column = node.reshape(b, &[*l, 1])?;
            let product = node.matmul(a, column, [false, false])?;
            node.reshape(product, &[batch, &[*m]].concat())
        }
        // All of A shares one matrix: compute one large product instead of many small ones.
        ([rest @ .., k], [_, n]) if rest.len() > 1 => {
            let rows = rest.iter().product();
            let flat = node.reshape(a, &[rows, *k])?;
            let product = node.matmul(flat, b, [false, false])?;
            node.reshape(product, &[rest, &[*n]].concat())
        }
        _ => node.matmul(a, b, [false, false]),
    }
}
