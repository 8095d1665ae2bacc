//! Decodes `TensorProto`: dimensions within limits, and elements of every plain numeric type from either encoding.

use super::limits::RANK_MAX;
use super::proto::{EXTERNAL, TensorProto, data_type};
use super::{FileError, ImportLimits};

/// The meaning of a tensor's elements. The graph stores all of them as plain numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementType {
    /// Real numbers of any precision.
    Float,
    /// Integers: division truncates.
    Integer,
    /// Booleans: 0 and 1.
    Boolean,
}

impl ElementType {
    /// Returns the meaning of an ONNX element type, if it is plain numbers.
    pub fn of(number: i32) -> Option<Self> {
        match number {
            data_type::FLOAT | data_type::DOUBLE | data_type::FLOAT16 | data_type::BFLOAT16 => {
                Some(Self::Float)
            }
            data_type::INT8 | data_type::INT16 | data_type::INT32 | data_type::INT64 => Some(Self::Integer),
            data_type::UINT8 | data_type::UINT16 | data_type::UINT32 | data_type::UINT64 => {
                Some(Self::Integer)
            }
            data_type::BOOL => Some(Self::Boolean),
            _ => None,
        }
    }
}

/// A tensor whose elements are known at import.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// The dimensions, outermost first; none for a scalar.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub elements: Vec<f64>,
    /// The meaning of the elements.
    pub element_type: ElementType,
}

/// Returns the dimensions and the number of elements of a tensor.
///
/// # Errors
/// Returns a [`FileError`] for external data, a dimension below 1, or more elements than the limit.
pub fn dims(tensor: &TensorProto, limits: &ImportLimits) -> Result<(Vec<usize>, usize), FileError> {
    let (dims, elements) = dims_or_empty(tensor, limits)?;
    if elements == 0 {
        return Err(FileError::InvalidDimension { tensor: tensor.name.clone(), dimension: 0 });
    }
    Ok((dims, elements))
}

/// Returns the number of elements that a tensor's dimensions need.
///
/// # Errors
/// Returns a [`FileError`] for external data, a negative dimension, or more elements than the limit.
pub fn volume_of(tensor: &TensorProto, limits: &ImportLimits) -> Result<usize, FileError> {
    Ok(dims_or_empty(tensor, limits)?.1)
}

fn dims_or_empty(tensor: &TensorProto, limits: &ImportLimits) -> Result<(Vec<usize>, usize), FileError> {
    if tensor.data_location == EXTERNAL {
        return Err(FileError::ExternalData { tensor: tensor.name.clone() });
    }
    let dims = converted(&tensor.name, &tensor.dims, 0)?;
    let elements = checked_volume(&tensor.name, &dims, limits)?;
    Ok((dims, elements))
}

/// Converts dimensions, each of which must be 1 or more.
pub fn checked_dims(name: &str, dims: &[i64]) -> Result<Vec<usize>, FileError> {
    converted(name, dims, 1)
}

pub(crate) fn converted(name: &str, dims: &[i64], smallest: usize) -> Result<Vec<usize>, FileError> {
    if dims.len() > RANK_MAX {
        return Err(FileError::TooMany {
            what: "dimensions in a tensor",
            count: dims.len(),
            limit: RANK_MAX,
        });
    }
    let convert = |dimension: &i64| match usize::try_from(*dimension) {
        Ok(size) if size >= smallest => Ok(size),
        _ => Err(FileError::InvalidDimension { tensor: name.to_owned(), dimension: *dimension }),
    };
    dims.iter().map(convert).collect()
}

/// Returns the product of the dimensions, if it is within the limit.
pub fn checked_volume(name: &str, dims: &[usize], limits: &ImportLimits) -> Result<usize, FileError> {
    let limit = limits.tensor_elements_max;
    // Also rejects an empty tensor whose other dimensions overflow.
    dims.iter()
        .try_fold(1usize, |product, size| product.checked_mul((*size).max(1)))
        .filter(|product| *product <= limit)
        .map(|product| if dims.contains(&0) { 0 } else { product })
        .ok_or_else(|| FileError::TensorTooLarge { tensor: name.to_owned(), limit })
}

/// Decodes a constant tensor.
///
/// # Errors
/// Returns a [`FileError`] for an element type other than plain numbers, a wrong length, or a NaN. Infinity is
/// allowed, because masks use it.
pub fn constant(tensor: &TensorProto, limits: &ImportLimits) -> Result<Constant, FileError> {
    let constant = any_constant(tensor, limits)?;
    if constant.elements.iter().any(|element| element.is_nan()) {
        return Err(FileError::NotFinite { tensor: tensor.name.clone() });
    }
    Ok(constant)
}

/// Decodes a tensor of any plain numeric type. NaN is allowed.
pub fn any_constant(tensor: &TensorProto, limits: &ImportLimits) -> Result<Constant, FileError> {
    let Some(element_type) = ElementType::of(tensor.data_type) else {
        let element_type = tensor.data_type;
        return Err(FileError::UnsupportedElementType { tensor: tensor.name.clone(), element_type });
    };
    let (shape, expected) = dims_or_empty(tensor, limits)?;
    let wrong_length = |found| FileError::WrongLength { tensor: tensor.name.clone(), expected, found };
    let elements = if tensor.raw_data.is_empty() {
        listed(tensor)
    } else {
        raw(tensor.data_type, &tensor.raw_data, expected).ok_or(wrong_length(tensor.raw_data.len()))?
    };
    if elements.len() != expected {
        return Err(wrong_length(elements.len()));
    }
    Ok(Constant { shape, elements, element_type })
}

/// Returns the elements from the field that ONNX uses for the type.
fn listed(tensor: &TensorProto) -> Vec<f64> {
    let small = tensor.int32_data.iter();
    match tensor.data_type {
        data_type::FLOAT => tensor.float_data.iter().map(|element| f64::from(*element)).collect(),
        data_type::DOUBLE => tensor.double_data.clone(),
        data_type::INT64 => tensor.int64_data.iter().map(|element| *element as f64).collect(),
        data_type::UINT32 | data_type::UINT64 => {
            tensor.uint64_data.iter().map(|element| *element as f64).collect()
        }
        data_type::FLOAT16 => small.map(|bits| half(*bits as u16)).collect(),
        data_type::BFLOAT16 => small.map(|bits| brain(*bits as u16)).collect(),
        _ => small.map(|element| f64::from(*element)).collect(),
    }
}

/// Returns the elements from little-endian bytes, if their number is as expected.
fn raw(data_type: i32, bytes: &[u8], expected: usize) -> Option<Vec<f64>> {
    match data_type {
        data_type::FLOAT => read(bytes, expected, |bytes| f32::from_le_bytes(bytes).into()),
        data_type::DOUBLE => read(bytes, expected, f64::from_le_bytes),
        data_type::FLOAT16 => read(bytes, expected, |bytes| half(u16::from_le_bytes(bytes))),
        data_type::BFLOAT16 => read(bytes, expected, |bytes| brain(u16::from_le_bytes(bytes))),
        data_type::INT8 => read(bytes, expected, |bytes| i8::from_le_bytes(bytes).into()),
        data_type::INT16 => read(bytes, expected, |bytes| i16::from_le_bytes(bytes).into()),
        data_type::INT32 => read(bytes, expected, |bytes| i32::from_le_bytes(bytes).into()),
        data_type::INT64 => read(bytes, expected, |bytes| i64::from_le_bytes(bytes) as f64),
        data_type::UINT16 => read(bytes, expected, |bytes| u16::from_le_bytes(bytes).into()),
        data_type::UINT32 => read(bytes, expected, |bytes| u32::from_le_bytes(bytes).into()),
        data_type::UINT64 => read(bytes, expected, |bytes| u64::from_le_bytes(bytes) as f64),
        _ => read(bytes, expected, |[byte]: [u8; 1]| byte.into()),
    }
}

fn read<const BYTES: usize>(
    bytes: &[u8],
    expected: usize,
    number: impl Fn([u8; BYTES]) -> f64,
) -> Option<Vec<f64>> {
    let (elements, rest) = bytes.as_chunks::<BYTES>();
    (elements.len() == expected && rest.is_empty())
        .then(|| elements.iter().map(|element| number(*element)).collect())
}

/// Converts the bits of an IEEE 754 half-precision float.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match (bits >> 10) & 0x1f {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    sign * magnitude
}

/// Converts the bits of a bfloat16, the upper half of a single-precision float.
fn brain(bits: u16) -> f64 {
    f32::from_bits(u32::from(bits) << 16).into()
}

/// Checks that no element is NaN or infinite.
pub fn expect_finite(name: &str, mut elements: impl Iterator<Item = f32>) -> Result<(), FileError> {
    if elements.all(f32::is_finite) { Ok(()) } else { Err(FileError::NotFinite { tensor: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_read() {
        let cases = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 2f64.powi(-24)),
            (0xfc00, f64::NEG_INFINITY),
        ];
        for (bits, number) in cases {
            assert_eq!(half(bits), number);
        }
        assert!(half(0x7e00).is_nan());
        assert_eq!(brain(0x3fc0), 1.5);
    }
}
