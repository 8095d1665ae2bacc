//! Conversions between number types. A value out of range becomes the nearest possible value instead of losing bits or
//! its sign.

/// Returns a count as a length in memory; `usize::MAX` if it is larger.
#[inline]
pub fn to_length(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Returns the whole part of a number: 0 for NaN and negative numbers, `u64::MAX` for numbers above it.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting a float to an integer saturates"
)]
pub fn to_whole(number: f64) -> u64 {
    number as u64
}

/// Returns the nearest float32, ties to even. Numbers beyond the range of float32 become infinite.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "casting to a smaller float rounds")]
pub fn to_float32(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_nearest_one() {
        assert_eq!([0, 7].map(to_length), [0, 7]);
        assert_eq!(to_length(u64::MAX), usize::MAX);
        assert_eq!([-1.0, f64::NAN, 0.9, 2.9, 1e300].map(to_whole), [0, 0, 0, 2, u64::MAX]);
        assert_eq!([0.1, -1e300].map(to_float32), [0.1, f32::NEG_INFINITY]);
        assert!(to_float32(f64::NAN).is_nan());
    }
}
