//! Losses as means over the batch, and their gradients.

use candle_core::{Result, Tensor};

/// The mean over the batch of `-log softmax(logits)[class]`, a scalar.
pub(super) fn softmax_cross_entropy(logits: &Tensor, classes: &Tensor) -> Result<Tensor> {
    log_softmax(logits)?.gather(&classes.unsqueeze(1)?, 1)?.neg()?.mean_all()
}

/// `(softmax(logits) - one_hot(class)) / batch`.
pub(super) fn softmax_cross_entropy_gradient(logits: &Tensor, classes: &Tensor) -> Result<Tensor> {
    let indices = classes.unsqueeze(1)?;
    let minus_one = Tensor::full(-1.0f32, indices.shape(), logits.device())?.to_dtype(logits.dtype())?;
    let probabilities = log_softmax(logits)?.exp()?;
    let difference = probabilities.scatter_add(&indices, &minus_one, 1)?;
    difference.affine(1.0 / logits.dim(0)? as f64, 0.0)
}

/// The mean of `(output - target)²` over all elements: each example counts alike, and so does each output.
pub(super) fn mean_squared_error(outputs: &Tensor, targets: &Tensor) -> Result<Tensor> {
    outputs.sub(targets)?.sqr()?.mean_all()
}

/// `2 (output - target) / elements`.
pub(super) fn mean_squared_error_gradient(outputs: &Tensor, targets: &Tensor) -> Result<Tensor> {
    outputs.sub(targets)?.affine(2.0 / outputs.elem_count() as f64, 0.0)
}

/// Logarithms of the class probabilities. The row's maximum is subtracted first, so that no exponential overflows.
fn log_softmax(logits: &Tensor) -> Result<Tensor> {
    let shifted = logits.broadcast_sub(&logits.max_keepdim(1)?)?;
    let log_sum = shifted.exp()?.sum_keepdim(1)?.log()?;
    shifted.broadcast_sub(&log_sum)
}
