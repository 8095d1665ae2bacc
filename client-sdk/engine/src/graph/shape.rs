//! Shapes with a symbolic batch dimension.

use std::fmt;

/// One dimension of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dim {
    /// A number that is known when the model is imported.
    Fixed(usize),
    /// This many times the number of examples in the batch, which is only known when the graph runs.
    Batch(usize),
}

impl Dim {
    /// The dimension for a batch of `batch` examples.
    pub(crate) fn resolve(self, batch: usize) -> usize {
        match self {
            Self::Fixed(size) => size,
            Self::Batch(times) => times * batch,
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => write!(formatter, "{size}"),
            Self::Batch(1) => write!(formatter, "N"),
            Self::Batch(times) => write!(formatter, "{times}N"),
        }
    }
}

/// The dimensions of a tensor, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) Vec<Dim>);

impl Shape {
    /// A shape without a batch dimension.
    pub(crate) fn fixed(dims: &[usize]) -> Self {
        Self(dims.iter().map(|size| Dim::Fixed(*size)).collect())
    }

    /// A batch dimension followed by the shape of one example.
    pub(crate) fn batched(example_shape: &[usize]) -> Self {
        let mut dims = vec![Dim::Batch(1)];
        dims.extend(example_shape.iter().map(|size| Dim::Fixed(*size)));
        Self(dims)
    }

    /// The shape of one example, or `None` if this is not a batch dimension followed by fixed ones.
    pub(crate) fn example_shape(&self) -> Option<Vec<usize>> {
        let (Dim::Batch(1), rest) = self.0.split_first()? else { return None };
        rest.iter()
            .map(|dim| match dim {
                Dim::Fixed(size) => Some(*size),
                Dim::Batch(_) => None,
            })
            .collect()
    }

    /// The dimensions for a batch of `batch` examples.
    pub(crate) fn resolve(&self, batch: usize) -> Vec<usize> {
        self.0.iter().map(|dim| dim.resolve(batch)).collect()
    }

    /// The product of all dimensions as (fixed factor, power of the batch size).
    ///
    /// # Errors
    /// Returns [`ShapeError::TooLarge`] if the fixed factor overflows.
    pub(crate) fn volume(&self) -> Result<(usize, usize), ShapeError> {
        volume(&self.0)
    }
}

/// The product of `dims` as (fixed factor, power of the batch size).
pub(crate) fn volume(dims: &[Dim]) -> Result<(usize, usize), ShapeError> {
    let mut factor = 1usize;
    let mut power = 0;
    for dim in dims {
        let (size, is_batch) = match dim {
            Dim::Fixed(size) => (*size, 0),
            Dim::Batch(times) => (*times, 1),
        };
        factor = factor.checked_mul(size).ok_or(ShapeError::TooLarge)?;
        power += is_batch;
    }
    Ok((factor, power))
}

/// The shape of an elementwise operation between two tensors, by the rules of NumPy and ONNX.
///
/// # Errors
/// Returns [`ShapeError::Mismatch`] if a pair of dimensions is neither equal nor has a 1.
pub(crate) fn broadcast(left: &Shape, right: &Shape) -> Result<Shape, ShapeError> {
    let rank = left.0.len().max(right.0.len());
    let dims = (0..rank).map(|axis| {
        let a = aligned(left, rank, axis);
        let b = aligned(right, rank, axis);
        match (a, b) {
            (a, b) if a == b => Ok(a),
            (Dim::Fixed(1), other) | (other, Dim::Fixed(1)) => Ok(other),
            _ => Err(ShapeError::mismatch("broadcasting", left, right)),
        }
    });
    Ok(Shape(dims.collect::<Result<_, _>>()?))
}

/// The dimension at `axis` after padding the shape with ones in front to `rank` dimensions.
fn aligned(shape: &Shape, rank: usize, axis: usize) -> Dim {
    let padding = rank - shape.0.len();
    if axis < padding { Dim::Fixed(1) } else { shape.0[axis - padding] }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[")?;
        for (position, dim) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(formatter, "{separator}{dim}")?;
        }
        write!(formatter, "]")
    }
}

/// The shapes of an operator's inputs do not fit it. `N` in a message is the number of examples in a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// Two shapes do not go together.
    #[error("{operation} does not fit shapes {left} and {right}")]
    Mismatch {
        /// What was to be done with the two tensors.
        operation: &'static str,
        /// The first shape.
        left: String,
        /// The second shape.
        right: String,
    },
    /// A tensor has the wrong number of dimensions.
    #[error("{operation} needs {expected} dimensions, the shape is {found}")]
    Rank {
        /// What was to be done with the tensor.
        operation: &'static str,
        /// How many dimensions it takes.
        expected: usize,
        /// The shape that was given.
        found: String,
    },
    /// An operator was given too few or too many inputs.
    #[error("{operation} was given {found} inputs")]
    InputCount {
        /// The operator.
        operation: &'static str,
        /// How many inputs it was given.
        found: usize,
    },
    /// The product of the dimensions overflows.
    #[error("the product of the dimensions is too large")]
    TooLarge,
}

impl ShapeError {
    pub(crate) fn mismatch(operation: &'static str, left: &Shape, right: &Shape) -> Self {
        Self::Mismatch { operation, left: left.to_string(), right: right.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bias_broadcasts_over_the_batch() {
        let sum = broadcast(&Shape::batched(&[10]), &Shape::fixed(&[10])).unwrap();
        assert_eq!(sum, Shape::batched(&[10]));
        let sum = broadcast(&Shape::fixed(&[1, 10]), &Shape::batched(&[1])).unwrap();
        assert_eq!(sum, Shape::batched(&[10]));
    }

    #[test]
    fn different_sizes_do_not_broadcast() {
        let error = broadcast(&Shape::batched(&[10]), &Shape::fixed(&[9])).unwrap_err();
        assert_eq!(error.to_string(), "broadcasting does not fit shapes [N, 10] and [9]");
    }
}
