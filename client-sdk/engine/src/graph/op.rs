//! The operators that a graph is made of.

use super::Shape;

/// What a node computes. The first group comes from ONNX; the second is only made by the gradient builder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    /// `alpha * op(A) op(B) [+ beta * C]` with A, B matrices, C broadcast to the product.
    Gemm { alpha: f32, beta: f32, transpose_a: bool, transpose_b: bool },
    /// The product of two matrices.
    MatMul,
    /// Elementwise sum with broadcasting.
    Add,
    /// Elementwise difference with broadcasting.
    Sub,
    /// Elementwise product with broadcasting.
    Mul,
    /// `max(x, 0)`.
    Relu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `tanh(x)`.
    Tanh,
    /// The same elements in another shape. ONNX `Reshape` and `Flatten` both become this.
    Reshape { shape: Shape },

    /// The tensor times a number.
    Scale { factor: f32 },
    /// Undoes a broadcast: sums over the dimensions along which a tensor of `shape` was repeated.
    SumTo { shape: Shape },
    /// From (gradient of y, y): the gradient of the input of `Relu`.
    ReluGradient,
    /// From (gradient of y, y): the gradient of the input of `Sigmoid`.
    SigmoidGradient,
    /// From (gradient of y, y): the gradient of the input of `Tanh`.
    TanhGradient,
    /// From (logits `[N, classes]`, class numbers `[N]`): the mean cross-entropy over the batch, a scalar.
    SoftmaxCrossEntropy,
    /// From the same inputs: the gradient of that mean with respect to the logits.
    SoftmaxCrossEntropyGradient,
    /// From (outputs, targets) of one shape: the mean over the batch of each example's mean squared error.
    MeanSquaredError,
    /// From the same inputs: the gradient of that mean with respect to the outputs.
    MeanSquaredErrorGradient,
}

impl Op {
    /// The name for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Gemm { .. } => "Gemm",
            Self::MatMul => "MatMul",
            Self::Add => "Add",
            Self::Sub => "Sub",
            Self::Mul => "Mul",
            Self::Relu => "Relu",
            Self::Sigmoid => "Sigmoid",
            Self::Tanh => "Tanh",
            Self::Reshape { .. } => "Reshape",
            Self::Scale { .. } => "Scale",
            Self::SumTo { .. } => "SumTo",
            Self::ReluGradient => "ReluGradient",
            Self::SigmoidGradient => "SigmoidGradient",
            Self::TanhGradient => "TanhGradient",
            Self::SoftmaxCrossEntropy => "SoftmaxCrossEntropy",
            Self::SoftmaxCrossEntropyGradient => "SoftmaxCrossEntropyGradient",
            Self::MeanSquaredError => "MeanSquaredError",
            Self::MeanSquaredErrorGradient => "MeanSquaredErrorGradient",
        }
    }
}
