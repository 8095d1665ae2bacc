//! A run of float32 or bfloat16 values: unchanged, or with their exponents stored separately and entropy-coded if that
//! is shorter.
//!
//! The values of a tensor have few distinct exponents, while their signs and fractions look random. Coding reduces the
//! 8 bits of an exponent to 2 or 3, without loss.
//!
//! The bytes: 0 and the values; or 1, then for each value its sign and fraction (3 bytes of float32, 1 of bfloat16,
//! with the sign in the top bit), then the exponents as symbols.

use super::{
    bytes::Bytes,
    entropy::{self, Coding},
    halves::{from_brain16, to_brain16},
};
use crate::codec::{Fault, vectorised};

const WHOLE: u8 = 0;
const APART: u8 = 1;
/// The number of different exponents, which is the same in both formats.
const EXPONENTS: usize = 256;

/// The format of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    /// 8 bits of exponent, 24 bits of sign and fraction.
    Float32,
    /// 8 bits of exponent, 8 bits of sign and fraction: the upper half of a float32, rounded to nearest, ties to even.
    Brain16,
}

/// Appends values.
pub(crate) fn write(kind: Float, values: &[f32], lossless: bool, out: &mut Vec<u8>) {
    match kind {
        Float::Float32 => write_as::<4, 3>(values, |value| value.to_bits().to_le_bytes(), lossless, out),
        Float::Brain16 => write_as::<2, 1>(values, |value| to_brain16(value).to_le_bytes(), lossless, out),
    }
}

/// Reads values up to the end of the bytes.
///
/// # Errors
/// A fault if the bytes do not encode exactly this many values.
pub(crate) fn read(kind: Float, bytes: &mut Bytes<'_>, values: &mut [f32]) -> Result<(), Fault> {
    match kind {
        Float::Float32 => read_as::<4, 3>(bytes, values, f32::from_le_bytes),
        Float::Brain16 => read_as::<2, 1>(bytes, values, |bytes| from_brain16(u16::from_le_bytes(bytes))),
    }
}

/// `WIDTH` is the number of bytes per value, and `REST` the number of bytes without the exponent.
fn write_as<const WIDTH: usize, const REST: usize>(
    values: &[f32],
    bytes_of: impl Fn(f32) -> [u8; WIDTH],
    lossless: bool,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.resize(start + 1 + WIDTH * values.len(), WHOLE);
    let whole = out[start + 1..].as_chunks_mut::<WIDTH>().0;
    vectorised(
        #[inline(always)]
        || whole.iter_mut().zip(values).for_each(|(bytes, value)| *bytes = bytes_of(*value)),
    );
    if !lossless || values.is_empty() {
        return;
    }
    let exponents: Vec<u8> =
        whole.iter().map(|bytes| bytes[WIDTH - 1] << 1 | bytes[WIDTH - 2] >> 7).collect();
    let coding = Coding::of(&exponents, EXPONENTS);
    if coding.coded_bytes() >= exponents.len() {
        return;
    }
    let rests: Vec<[u8; REST]> = whole
        .iter()
        .map(|bytes| {
            let mut rest = [0; REST];
            rest.copy_from_slice(&bytes[..REST]);
            rest[REST - 1] = rest[REST - 1] & 0x7f | bytes[WIDTH - 1] & 0x80;
            rest
        })
        .collect();
    out.truncate(start);
    out.push(APART);
    out.extend_from_slice(rests.as_flattened());
    coding.encode(out);
}

fn read_as<const WIDTH: usize, const REST: usize>(
    bytes: &mut Bytes<'_>,
    values: &mut [f32],
    value_of: impl Fn([u8; WIDTH]) -> f32,
) -> Result<(), Fault> {
    match bytes.array()? {
        [WHOLE] => {
            let whole = bytes.take(WIDTH * values.len())?.as_chunks::<WIDTH>().0;
            vectorised(
                #[inline(always)]
                || values.iter_mut().zip(whole).for_each(|(value, bytes)| *value = value_of(*bytes)),
            );
            bytes.end()
        }
        [APART] => {
            let rests = bytes.take(REST * values.len())?.as_chunks::<REST>().0;
            let mut exponents = vec![0; values.len()];
            entropy::decode(std::mem::take(&mut bytes.0), EXPONENTS, &mut exponents)?;
            for ((value, rest), exponent) in values.iter_mut().zip(rests).zip(exponents) {
                let mut whole = [0; WIDTH];
                whole[..REST].copy_from_slice(rest);
                whole[WIDTH - 1] = rest[REST - 1] & 0x80 | exponent >> 1;
                whole[WIDTH - 2] = rest[REST - 1] & 0x7f | exponent << 7;
                *value = value_of(whole);
            }
            Ok(())
        }
        _ => Err(Fault("the encoding of the values is unknown")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn through(kind: Float, values: &[f32], lossless: bool) -> (usize, Vec<f32>) {
        let mut bytes = vec![9, 9];
        write(kind, values, lossless, &mut bytes);
        let mut seen = vec![0.0; values.len()];
        read(kind, &mut Bytes(&bytes[2..]), &mut seen).unwrap();
        (bytes.len() - 2, seen)
    }

    proptest! {
        #[test]
        fn no_bit_is_lost(
            values in prop::collection::vec(prop_oneof![any::<f32>(), -1.0f32..1.0], 0..2000), repeat in 1usize..3,
        ) {
            let values = values.repeat(repeat);
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
            for lossless in [false, true] {
                let (bytes, seen) = through(Float::Float32, &values, lossless);
                prop_assert!(bytes <= 1 + 4 * values.len() + 8);
                prop_assert_eq!(bits(&seen), bits(&values));
            }
            let finite: Vec<f32> = values.into_iter().filter(|value| value.abs() < 1e38).collect();
            let (_, seen) = through(Float::Brain16, &finite, true);
            let rounded: Vec<f32> = finite.iter().map(|value| from_brain16(to_brain16(*value))).collect();
            prop_assert_eq!(bits(&seen), bits(&rounded));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..700), stage in 0u8..3) {
            let bytes = [&[stage][..], &bytes].concat();
            let _ = read(Float::Float32, &mut Bytes(&bytes), &mut [0.0; 50]);
            let _ = read(Float::Brain16, &mut Bytes(&bytes), &mut [0.0; 300]);
        }
    }

    #[test]
    fn exponents_are_most_of_what_can_be_saved() {
        let values: Vec<f32> =
            (1..=60_000).map(|at: u32| at.wrapping_mul(2_654_435_761) as f32 / 4e9 - 0.5).collect();
        let (whole, (apart, _)) =
            (through(Float::Float32, &values, false).0, through(Float::Float32, &values, true));
        // The exponents of uniform values have 2 bits: 26 bits of 32.
        assert!((apart as f64 / whole as f64) < 26.3 / 32.0, "{apart} {whole}");
    }
}
