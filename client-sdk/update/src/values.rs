/// A value that must not be summed, and its position in the checked bytes.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ValueFault {
    /// NaN or infinite.
    #[error("element {index} is not finite")]
    NotFinite {
        /// The element's index, from the first of the checked bytes.
        index: usize,
    },
    /// The magnitude exceeds the grid's limit.
    #[error("element {index} is {value}, outside the plan's grid")]
    OutOfRange {
        /// The element's index, from the first of the checked bytes.
        index: usize,
        /// The value.
        value: f32,
    },
}

/// Checks that every float32 in `bytes` (little-endian, a multiple of 4) is finite and within ±`value_max`.
///
/// The common case is one branch-free pass: without its sign bit, a float compares like an integer, and NaN and
/// infinity are above every finite value.
///
/// # Errors
/// The first invalid value.
pub fn check_values(bytes: &[u8], value_max: f32) -> Result<(), ValueFault> {
    let limit = value_max.to_bits();
    let magnitude = |chunk: &[u8; 4]| u32::from_le_bytes(*chunk) & 0x7fff_ffff;
    let (chunks, _) = bytes.as_chunks::<4>();
    let largest = chunks.iter().map(magnitude).fold(0, u32::max);
    if largest <= limit {
        return Ok(());
    }
    let index = chunks.iter().position(|chunk| magnitude(chunk) > limit).expect("the largest is one of them");
    let value = f32::from_le_bytes(chunks[index]);
    Err(if value.is_finite() {
        ValueFault::OutOfRange { index, value }
    } else {
        ValueFault::NotFinite { index }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f32]) -> Result<(), ValueFault> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        check_values(&bytes, 16.0)
    }

    #[test]
    fn ordinary_values_pass() {
        assert_eq!(check(&[0.0, -0.0, f32::MIN_POSITIVE / 4.0, 16.0, -16.0]), Ok(()));
        assert_eq!(check(&[]), Ok(()));
    }

    #[test]
    fn the_first_bad_value_is_named() {
        let above = f32::from_bits(16f32.to_bits() + 1);
        assert_eq!(check(&[1.0, -above, f32::NAN]), Err(ValueFault::OutOfRange { index: 1, value: -above }));
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(check(&[1.0, 2.0, bad]), Err(ValueFault::NotFinite { index: 2 }));
        }
    }
}
