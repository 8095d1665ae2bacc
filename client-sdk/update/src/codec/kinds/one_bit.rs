//! One bit per value: its sign, and one or two scales for the tile.
//!
//! 1-bit SGD (Seide et al. 2014) sends the mean of the non-negative values and the mean of the negative ones. The
//! paper's columns correspond to tiles here. Scaled sign (Bernstein et al. 2018, with the scale of Karimireddy et al.
//! 2019, algorithm 1, EF-signSGD) sends the mean magnitude. Zero is treated as positive. Both codecs are biased.
//!
//! A tile: the two means or the one scale as float32, then the signs, one bit each, 1 for negative.

use crate::codec::coding::{bits, bytes::Bytes};
use crate::codec::transform::{real::Real, sums::LANES};
use crate::codec::{Fault, vectorised};

/// The scales that are sent with the signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// One mean per sign.
    Two,
    /// The mean magnitude.
    One,
}

/// Returns the values that the bits 0 and 1 stand for.
pub(crate) fn means<T: Real>(kind: Means, values: &[T]) -> (f64, f64) {
    let (sums, negative) = vectorised(
        #[inline(always)]
        || sums_by_sign(values),
    );
    let [positive_sum, negative_sum] = sums;
    match kind {
        Means::One => {
            let scale = (positive_sum - negative_sum) / (values.len() as f64).max(1.0);
            (scale, -scale)
        }
        Means::Two => {
            let positive = values.len() - negative;
            (positive_sum / (positive as f64).max(1.0), negative_sum / (negative as f64).max(1.0))
        }
    }
}

/// Returns the sums of the non-negative and of the negative values, and the number of negative values.
#[inline(always)]
fn sums_by_sign<T: Real>(values: &[T]) -> ([f64; 2], usize) {
    let (mut positive, mut negative, mut counts) = ([0.0; LANES], [0.0; LANES], [0u32; LANES]);
    let mut add = |lane: usize, value: T| {
        let (is_negative, value) = (value < T::ZERO, value.to_f64());
        positive[lane] += if is_negative { 0.0 } else { value };
        negative[lane] += if is_negative { value } else { 0.0 };
        counts[lane] += u32::from(is_negative);
    };
    let (groups, rest) = values.as_chunks::<LANES>();
    for group in groups {
        for (lane, value) in group.iter().enumerate() {
            add(lane, *value);
        }
    }
    for (lane, value) in rest.iter().enumerate() {
        add(lane, *value);
    }
    ([positive.iter().sum(), negative.iter().sum()], counts.iter().sum::<u32>() as usize)
}

/// Appends a tile.
pub(crate) fn encode(kind: Means, values: &[f32], out: &mut Vec<u8>) {
    let (positive, negative) = means(kind, values);
    out.extend((positive as f32).to_le_bytes());
    if kind == Means::Two {
        out.extend((negative as f32).to_le_bytes());
    }
    let mut codes = vec![0; values.len()];
    vectorised(
        #[inline(always)]
        || {
            for (code, value) in codes.iter_mut().zip(values) {
                *code = u8::from(*value < 0.0);
            }
        },
    );
    bits::pack(&codes, 1, out);
}

/// Reads a tile.
pub(crate) fn decode(kind: Means, bytes: &mut Bytes<'_>, values: &mut [f32]) -> Result<(), Fault> {
    let positive = bytes.f32()?;
    let negative = if kind == Means::Two { bytes.f32()? } else { -positive };
    let packed = bytes.take(bits::packed_bytes(values.len(), 1))?;
    let mut codes = vec![0; values.len()];
    bits::unpack(packed, 1, &mut codes);
    vectorised(
        #[inline(always)]
        || {
            let (bits, change) = (positive.to_bits(), positive.to_bits() ^ negative.to_bits());
            for (value, code) in values.iter_mut().zip(&codes) {
                *value = f32::from_bits(bits ^ (change & u32::from(*code).wrapping_neg()));
            }
        },
    );
    Ok(())
}
