//! Shape inference: the shape of an operator's output from the shapes of its inputs.

use super::shape::broadcast;
use super::{Dim, Op, Shape, ShapeError};

/// The shape that `op` computes from inputs of the given shapes.
///
/// # Errors
/// Returns a [`ShapeError`] if the number of inputs or their shapes do not fit the operator.
pub(super) fn output_shape(op: &Op, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
    match (op, inputs) {
        (Op::Gemm { transpose_a, transpose_b, .. }, [a, b]) => product(a, *transpose_a, b, *transpose_b),
        (Op::Gemm { transpose_a, transpose_b, .. }, [a, b, c]) => {
            let shape = product(a, *transpose_a, b, *transpose_b)?;
            extends_to(c, &shape)?;
            Ok(shape)
        }
        (Op::MatMul, [a, b]) => product(a, false, b, false),
        (Op::Add | Op::Sub | Op::Mul, [a, b]) => broadcast(a, b),
        (Op::Relu | Op::Sigmoid | Op::Tanh | Op::Scale { .. }, [x]) => Ok((*x).clone()),
        (Op::ReluGradient | Op::SigmoidGradient | Op::TanhGradient, [gradient, y]) => same(op, gradient, y),
        (Op::Reshape { shape }, [x]) => reshape(x, shape),
        (Op::SumTo { shape }, [x]) => {
            extends_to(shape, x)?;
            Ok(shape.clone())
        }
        (Op::SoftmaxCrossEntropy, [logits, labels]) => {
            classes(logits, labels)?;
            Ok(Shape::fixed(&[]))
        }
        (Op::SoftmaxCrossEntropyGradient, [logits, labels]) => {
            classes(logits, labels)?;
            Ok((*logits).clone())
        }
        (Op::MeanSquaredError, [outputs, targets]) => {
            same(op, outputs, targets)?;
            Ok(Shape::fixed(&[]))
        }
        (Op::MeanSquaredErrorGradient, [outputs, targets]) => same(op, outputs, targets),
        _ => Err(ShapeError::InputCount { operation: op.name(), found: inputs.len() }),
    }
}

/// The shape of a matrix product.
fn product(a: &Shape, transpose_a: bool, b: &Shape, transpose_b: bool) -> Result<Shape, ShapeError> {
    let (rows, inner_a) = matrix(a, transpose_a)?;
    let (inner_b, columns) = matrix(b, transpose_b)?;
    if inner_a != inner_b {
        return Err(ShapeError::mismatch("the matrix product", a, b));
    }
    Ok(Shape(vec![rows, columns]))
}

fn matrix(shape: &Shape, transpose: bool) -> Result<(Dim, Dim), ShapeError> {
    let [rows, columns] = shape.0[..] else {
        return Err(ShapeError::Rank {
            operation: "the matrix product",
            expected: 2,
            found: shape.to_string(),
        });
    };
    Ok(if transpose { (columns, rows) } else { (rows, columns) })
}

/// Checks that `small` broadcasts to exactly `large`.
fn extends_to(small: &Shape, large: &Shape) -> Result<(), ShapeError> {
    if broadcast(small, large)? == *large {
        Ok(())
    } else {
        Err(ShapeError::mismatch("broadcasting in one direction", small, large))
    }
}

fn same(op: &Op, left: &Shape, right: &Shape) -> Result<Shape, ShapeError> {
    if left == right { Ok(left.clone()) } else { Err(ShapeError::mismatch(op.name(), left, right)) }
}

fn reshape(from: &Shape, to: &Shape) -> Result<Shape, ShapeError> {
    if from.volume()? == to.volume()? {
        Ok(to.clone())
    } else {
        Err(ShapeError::mismatch("reshaping", from, to))
    }
}

/// Checks logits `[N, classes]` against class numbers `[N]`.
fn classes(logits: &Shape, labels: &Shape) -> Result<(), ShapeError> {
    match (&logits.0[..], &labels.0[..]) {
        ([rows, _], [count]) if rows == count => Ok(()),
        _ => Err(ShapeError::mismatch("softmax cross-entropy", logits, labels)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dense_layer_keeps_the_batch() {
        let gemm = Op::Gemm { alpha: 1.0, beta: 1.0, transpose_a: false, transpose_b: true };
        let inputs = [&Shape::batched(&[64]), &Shape::fixed(&[10, 64]), &Shape::fixed(&[10])];
        assert_eq!(output_shape(&gemm, &inputs), Ok(Shape::batched(&[10])));
    }

    #[test]
    fn inner_dimensions_must_agree() {
        let inputs = [&Shape::batched(&[64]), &Shape::fixed(&[63, 10])];
        let error = output_shape(&Op::MatMul, &inputs).unwrap_err();
        assert_eq!(error.to_string(), "the matrix product does not fit shapes [N, 64] and [63, 10]");
    }

    #[test]
    fn a_sum_to_a_shape_that_does_not_extend_is_refused() {
        let op = Op::SumTo { shape: Shape::fixed(&[3, 4]) };
        assert!(output_shape(&op, &[&Shape::fixed(&[4])]).is_err());
    }

    #[test]
    fn reshaping_keeps_the_number_of_elements() {
        let op = Op::Reshape { shape: Shape::batched(&[8, 8]) };
        assert!(output_shape(&op, &[&Shape::batched(&[64])]).is_ok());
        assert!(output_shape(&op, &[&Shape::batched(&[63])]).is_err());
    }
}
