//! Values of 16 bits: IEEE binary16 and bfloat16, rounded to the nearest, ties to even.

use super::bytes::Bytes;
use crate::codec::{Fault, vectorised};

/// The largest binary16.
const FLOAT16_MAX: f32 = 65_504.0;

/// Appends values as binary16.
pub(crate) fn encode(values: &[f32], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 2 * values.len(), 0);
    let bytes = out[start..].as_chunks_mut::<2>().0;
    vectorised(
        #[inline(always)]
        || bytes.iter_mut().zip(values).for_each(|(bytes, value)| *bytes = to_float16(*value).to_le_bytes()),
    );
}

/// Reads values of binary16.
pub(crate) fn decode(bytes: &mut Bytes<'_>, values: &mut [f32]) -> Result<(), Fault> {
    let bytes = bytes.take(2 * values.len())?.as_chunks::<2>().0;
    vectorised(
        #[inline(always)]
        || {
            values
                .iter_mut()
                .zip(bytes)
                .for_each(|(value, bytes)| *value = from_float16(u16::from_le_bytes(*bytes)))
        },
    );
    Ok(())
}

/// Rounds a finite value to binary16.
#[inline(always)]
pub(crate) fn to_float16(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let magnitude = value.abs();
    // A comparison instead of `f32::min`, which also handles NaN.
    let magnitude = if magnitude < FLOAT16_MAX { magnitude } else { FLOAT16_MAX };
    // Normal numbers: add half of the last kept bit, minus one if that bit is even, then adjust the exponent.
    let bits = magnitude.to_bits();
    let normal = (bits + 0xfff + (bits >> 13 & 1)).wrapping_sub(112 << 23) >> 13;
    // Subnormal numbers: adding 1/2 leaves the multiple of 2^-24, rounded to even, in the low bits.
    let subnormal = (magnitude + 0.5).to_bits() - 0.5f32.to_bits();
    let is_subnormal = bits < 113 << 23;
    sign | if is_subnormal { subnormal } else { normal } as u16
}

/// Converts a binary16 to float32 without rounding.
#[inline(always)]
pub(crate) fn from_float16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // Multiplying by 2^112 adjusts the exponent and normalises subnormal numbers.
    let value = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    let special = if magnitude >= 0x7c00 << 13 { 0x7f80_0000 } else { 0 };
    f32::from_bits(value.to_bits() | special | sign)
}

/// Rounds a finite value of at most 2^127 to bfloat16.
#[inline(always)]
pub(crate) fn to_brain16(value: f32) -> u16 {
    let bits = value.to_bits();
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// Converts a bfloat16 to float32 without rounding.
#[inline(always)]
pub(crate) fn from_brain16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the value of a binary16 from its definition (IEEE 754-2019, section 3.4).
    fn float16_by_definition(bits: u16) -> f64 {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        let magnitude = match exponent {
            0 => fraction * (-24f64).exp2(),
            _ => (1024.0 + fraction) * f64::from(exponent - 25).exp2(),
        };
        if bits & 0x8000 == 0 { magnitude } else { -magnitude }
    }

    #[test]
    fn every_finite_half_is_read_and_written_as_it_is() {
        for bits in (0..=u16::MAX).filter(|bits| bits >> 10 & 31 != 31) {
            let value = from_float16(bits);
            assert_eq!(f64::from(value), float16_by_definition(bits));
            assert_eq!(to_float16(value), bits);
        }
        for bits in (0..=u16::MAX).filter(|bits| bits >> 7 & 255 != 255) {
            assert_eq!(to_brain16(from_brain16(bits)), bits);
        }
        assert!(!from_float16(0x7c00).is_finite() && from_float16(0x7c01).is_nan());
    }

    #[test]
    fn rounding_is_to_the_nearest_and_to_even() {
        for bits in (0..0x7bff).step_by(3) {
            let (low, high) = (from_float16(bits), from_float16(bits + 1));
            let middle = (low + high) / 2.0;
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            assert_eq!(to_float16(middle), even);
            assert_eq!(to_float16(f32::from_bits(middle.to_bits() - 1)), bits);
            assert_eq!(to_float16(-f32::from_bits(middle.to_bits() + 1)), (bits + 1) | 0x8000);
        }
        for (bits, expected) in [(0x3f80_8000, 0x3f80), (0x3f81_8000, 0x3f82), (0x3f80_8001, 0x3f81)] {
            assert_eq!(to_brain16(f32::from_bits(bits)), expected);
        }
    }

    #[test]
    fn what_is_too_large_becomes_the_largest() {
        assert_eq!(to_float16(1e30), to_float16(65_504.0));
        assert_eq!(from_float16(to_float16(-7e4)), -65_504.0);
    }
}
