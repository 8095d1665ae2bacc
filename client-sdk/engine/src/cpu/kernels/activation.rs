//! Activations and their gradients from the output.

use candle_core::{Result, Tensor};

/// `1 / (1 + exp(-x))`. For a large negative `x` the exponential is infinite and the result 0, as it should be.
pub(super) fn sigmoid(x: &Tensor) -> Result<Tensor> {
    x.neg()?.exp()?.affine(1.0, 1.0)?.recip()
}

/// `gradient` where `y > 0`, else 0: the derivative at 0 is taken as 0.
pub(super) fn relu_gradient(gradient: &Tensor, y: &Tensor) -> Result<Tensor> {
    y.gt(0.0)?.to_dtype(gradient.dtype())?.mul(gradient)
}

/// `gradient * y * (1 - y)`.
pub(super) fn sigmoid_gradient(gradient: &Tensor, y: &Tensor) -> Result<Tensor> {
    y.affine(-1.0, 1.0)?.mul(y)?.mul(gradient)
}

/// `gradient * (1 - y²)`.
pub(super) fn tanh_gradient(gradient: &Tensor, y: &Tensor) -> Result<Tensor> {
    y.sqr()?.affine(-1.0, 1.0)?.mul(gradient)
}
