//! One function for each operator, over candle-core's tensors.

mod activation;
mod loss;
mod matrix;
mod reduce;

use candle_core::{Result, Tensor};

use crate::graph::Op;

/// Computes one operator for a batch of `batch` examples.
///
/// # Errors
/// Returns candle's error if the inputs do not fit, which shape inference has already excluded.
pub(super) fn run(op: &Op, inputs: &[&Tensor], batch: usize) -> Result<Tensor> {
    match (op, inputs) {
        (Op::Gemm { alpha, beta, transpose_a, transpose_b }, [a, b, rest @ ..]) => {
            let product = matrix::product(a, *transpose_a, b, *transpose_b)?;
            matrix::scale_and_add(product, *alpha, *beta, rest.first().copied())
        }
        (Op::MatMul, [a, b]) => matrix::product(a, false, b, false),
        (Op::Add, [a, b]) => a.broadcast_add(b),
        (Op::Sub, [a, b]) => a.broadcast_sub(b),
        (Op::Mul, [a, b]) => a.broadcast_mul(b),
        (Op::Relu, [x]) => x.relu(),
        (Op::Sigmoid, [x]) => activation::sigmoid(x),
        (Op::Tanh, [x]) => x.tanh(),
        (Op::Reshape { shape }, [x]) => x.reshape(shape.resolve(batch)),
        (Op::Scale { factor }, [x]) => x.affine(f64::from(*factor), 0.0),
        (Op::SumTo { shape }, [x]) => reduce::sum_to(x, &shape.resolve(batch)),
        (Op::ReluGradient, [gradient, y]) => activation::relu_gradient(gradient, y),
        (Op::SigmoidGradient, [gradient, y]) => activation::sigmoid_gradient(gradient, y),
        (Op::TanhGradient, [gradient, y]) => activation::tanh_gradient(gradient, y),
        (Op::SoftmaxCrossEntropy, [logits, labels]) => loss::softmax_cross_entropy(logits, labels),
        (Op::SoftmaxCrossEntropyGradient, [logits, labels]) => {
            loss::softmax_cross_entropy_gradient(logits, labels)
        }
        (Op::MeanSquaredError, [outputs, targets]) => loss::mean_squared_error(outputs, targets),
        (Op::MeanSquaredErrorGradient, [outputs, targets]) => {
            loss::mean_squared_error_gradient(outputs, targets)
        }
        _ => candle_core::bail!("{} was given {} inputs", op.name(), inputs.len()),
    }
}
