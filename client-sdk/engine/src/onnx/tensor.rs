//! Reads `TensorProto`: dimensions with limits, elements from either encoding.

use super::limits::RANK_MAX;
use super::proto::{EXTERNAL, FLOAT, INT64, TensorProto};
use super::{ImportError, ImportLimits};
use crate::graph::Constant;

const INT64_BYTES: usize = 8;
const FLOAT_BYTES: usize = 4;

/// The dimensions and the number of elements of a tensor.
///
/// # Errors
/// Returns an [`ImportError`] for external data, a dimension below 1, or more elements than the limit.
pub(super) fn dims(tensor: &TensorProto, limits: &ImportLimits) -> Result<(Vec<usize>, usize), ImportError> {
    if tensor.data_location == EXTERNAL {
        return Err(ImportError::ExternalData { tensor: tensor.name.clone() });
    }
    let dims = checked_dims(&tensor.name, &tensor.dims)?;
    let elements = checked_volume(&tensor.name, &dims, limits)?;
    Ok((dims, elements))
}

/// Converts dimensions, each of which must be 1 or more.
pub(super) fn checked_dims(name: &str, dims: &[i64]) -> Result<Vec<usize>, ImportError> {
    if dims.len() > RANK_MAX {
        return Err(ImportError::TooMany {
            what: "dimensions in a tensor",
            count: dims.len(),
            limit: RANK_MAX,
        });
    }
    let convert = |dimension: &i64| match usize::try_from(*dimension) {
        Ok(size) if size > 0 => Ok(size),
        _ => Err(ImportError::InvalidDimension { tensor: name.to_owned(), dimension: *dimension }),
    };
    dims.iter().map(convert).collect()
}

/// The product of dimensions, within the limit.
pub(super) fn checked_volume(
    name: &str,
    dims: &[usize],
    limits: &ImportLimits,
) -> Result<usize, ImportError> {
    let limit = limits.tensor_elements_max;
    dims.iter()
        .try_fold(1usize, |product, size| product.checked_mul(*size))
        .filter(|product| *product <= limit)
        .ok_or_else(|| ImportError::TensorTooLarge { tensor: name.to_owned(), limit })
}

/// A frozen float tensor.
///
/// # Errors
/// Returns an [`ImportError`] for another element type, a wrong length or an element that is not finite.
pub(super) fn float_constant(tensor: &TensorProto, limits: &ImportLimits) -> Result<Constant, ImportError> {
    expect_type(tensor, FLOAT)?;
    let (dims, count) = dims(tensor, limits)?;
    let (raw, rest) = tensor.raw_data.as_chunks::<FLOAT_BYTES>();
    let elements = if tensor.raw_data.is_empty() {
        tensor.float_data.clone()
    } else {
        raw.iter().map(|element| f32::from_le_bytes(*element)).collect()
    };
    expect_length(tensor, count, elements.len(), rest)?;
    expect_finite(&tensor.name, elements.iter().copied())?;
    Ok(Constant { dims, elements })
}

/// A one-dimensional (or scalar) tensor of integers, such as the shape that `Reshape` reads.
///
/// # Errors
/// Returns an [`ImportError`] for another element type or a wrong length.
pub(super) fn integers(tensor: &TensorProto, limits: &ImportLimits) -> Result<Vec<i64>, ImportError> {
    expect_type(tensor, INT64)?;
    let (_, count) = dims(tensor, limits)?;
    let (raw, rest) = tensor.raw_data.as_chunks::<INT64_BYTES>();
    let elements: Vec<i64> = if tensor.raw_data.is_empty() {
        tensor.int64_data.clone()
    } else {
        raw.iter().map(|element| i64::from_le_bytes(*element)).collect()
    };
    expect_length(tensor, count, elements.len(), rest)?;
    Ok(elements)
}

fn expect_type(tensor: &TensorProto, element_type: i32) -> Result<(), ImportError> {
    if tensor.data_type == element_type {
        return Ok(());
    }
    let tensor_name = tensor.name.clone();
    Err(ImportError::UnsupportedElementType { tensor: tensor_name, element_type: tensor.data_type })
}

fn expect_length(
    tensor: &TensorProto,
    expected: usize,
    found: usize,
    rest: &[u8],
) -> Result<(), ImportError> {
    if expected == found && rest.is_empty() {
        return Ok(());
    }
    Err(ImportError::WrongLength { tensor: tensor.name.clone(), expected, found })
}

/// Checks that no element is NaN or infinite.
pub(super) fn expect_finite(name: &str, mut elements: impl Iterator<Item = f32>) -> Result<(), ImportError> {
    if elements.all(f32::is_finite) {
        Ok(())
    } else {
        Err(ImportError::NotFinite { tensor: name.to_owned() })
    }
}
