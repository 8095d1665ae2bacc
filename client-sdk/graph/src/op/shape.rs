//! Arithmetic on shapes.

/// An operator cannot be applied to these shapes. The message names the operator and the shapes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShapeError(pub String);

impl ShapeError {
    /// Creates the error for an operator and the shapes that it cannot be applied to.
    pub fn new(what: &str, shapes: &[&[usize]]) -> Self {
        let shapes: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
        Self(format!("incompatible shapes for {what}: {}", shapes.join(" and ")))
    }
}

/// Returns the number of elements.
pub fn volume(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Returns the stride of each axis of a row-major tensor.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Returns the strides that read a tensor as if it were broadcast to `to`: 0 along broadcast axes.
pub fn broadcast_strides(shape: &[usize], to: &[usize]) -> Vec<usize> {
    let padding = to.len() - shape.len();
    let own = strides(shape);
    let stride = |axis: usize| match axis.checked_sub(padding) {
        Some(axis) if shape[axis] != 1 => own[axis],
        _ => 0,
    };
    (0..to.len()).map(stride).collect()
}

/// Returns the shape to which all of these broadcast, by NumPy's rules.
///
/// # Errors
/// Returns a [`ShapeError`] if an axis has two sizes, neither of which is 1.
pub fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>, ShapeError> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in shapes {
        for (result, size) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*result, *size) {
                (1, size) => *result = size,
                (_, 1) => {}
                (a, b) if a == b => {}
                _ => return Err(ShapeError::new("broadcasting", shapes)),
            }
        }
    }
    Ok(result)
}
