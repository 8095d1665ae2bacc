//! Matrix products.

use candle_core::{Result, Tensor};

/// `op(A) op(B)`. A transposed operand is read through its strides and is not copied.
pub(super) fn product(a: &Tensor, transpose_a: bool, b: &Tensor, transpose_b: bool) -> Result<Tensor> {
    let a = if transpose_a { a.t()? } else { a.clone() };
    let b = if transpose_b { b.t()? } else { b.clone() };
    a.matmul(&b)
}

/// `alpha * product + beta * c`.
pub(super) fn scale_and_add(product: Tensor, alpha: f32, beta: f32, c: Option<&Tensor>) -> Result<Tensor> {
    let scaled = scale(&product, alpha)?;
    match c {
        Some(c) => scaled.broadcast_add(&scale(c, beta)?),
        None => Ok(scaled),
    }
}

fn scale(x: &Tensor, factor: f32) -> Result<Tensor> {
    if factor == 1.0 { Ok(x.clone()) } else { x.affine(f64::from(factor), 0.0) }
}
