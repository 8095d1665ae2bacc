//! EDEN and DRIVE: rotate a block, quantise it like normal values, and send one scale that corrects the quantiser's
//! shrinkage.
//!
//! EDEN (Vargaftik et al. 2022, "EDEN: communication-efficient and robust distributed mean estimation"): let
//! `r = H D x / sqrt(d)` and `q` be the Lloyd-Max values of `sqrt(d) · r / |x|`. Then the scale `S = |x|^2 / <q, r>`
//! makes the decoded `S · R^-1 q` unbiased. With one bit, this is DRIVE (Vargaftik et al. 2021, "DRIVE: one-bit
//! distributed mean estimation": `S = |x|^2 / |r|_1` for signs). The biased form uses the scale of least squared error,
//! `<q, r> / <q, q>` (for one bit `|r|_1 / d`). The expected normalised error of the unbiased form is
//! `1 / (1 - D) - 1`, where `D` is the quantiser's distortion.
//!
//! A random Hadamard rotation is not uniform: if a few large values dominate, the result is only approximately unbiased
//! (see the squared bias of the log-normal vector in `fixtures/nmse.csv`).
//!
//! A tile: the scale of each block as float32, then the symbols, including each block's padding.

use crate::codec::coding::{bytes::Bytes, symbols};
use crate::codec::transform::{
    lloyd_max::{FOUR, ONE, Quantiser, THREE, TWO},
    random::Place,
    rotation::{Piece, Rotation, pieces},
    sums::{RUN, largest_magnitude, sum_of_products},
};
use crate::codec::{Fault, vectorised};

/// The parameters of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Eden {
    /// The number of bits of a symbol, from 1 to 4.
    pub bits: u8,
    /// The number of values in a block, a power of two.
    pub block: usize,
}

impl Eden {
    /// Appends a tile.
    pub fn encode(self, unbiased: bool, values: &[f32], place: Place, lossless: bool, out: &mut Vec<u8>) {
        let rotation = Rotation::of(place, self.block, values.len());
        let mut codes = Vec::new();
        for piece in rotation.pieces() {
            let scale = match self.bits {
                1 => encode_block(Quantiser::of(ONE), unbiased, &rotation, piece, values, &mut codes),
                2 => encode_block(Quantiser::of(TWO), unbiased, &rotation, piece, values, &mut codes),
                3 => encode_block(Quantiser::of(THREE), unbiased, &rotation, piece, values, &mut codes),
                _ => encode_block(Quantiser::of(FOUR), unbiased, &rotation, piece, values, &mut codes),
            };
            out.extend(scale.to_le_bytes());
        }
        // Random signs cannot be compressed.
        symbols::write(&codes, 1 << self.bits, lossless && self.bits > 1, out);
    }

    /// Reads a tile.
    pub fn decode(self, bytes: &mut Bytes<'_>, place: Place, values: &mut [f32]) -> Result<(), Fault> {
        let mut scales = Vec::new();
        let mut count = 0;
        for piece in pieces(values.len(), self.block) {
            scales.push(bytes.f32()?);
            count += piece.padded;
        }
        let mut codes = vec![0; count];
        symbols::read(bytes, 1 << self.bits, &mut codes)?;
        let rotation = Rotation::of(place, self.block, values.len());
        let mut buffer = Vec::new();
        for (piece, scale) in rotation.pieces().zip(scales) {
            let codes = &codes[piece.start..piece.start + piece.padded];
            buffer.resize(piece.padded, 0.0);
            match self.bits {
                1 => Quantiser::of(ONE).decode(codes, &mut buffer),
                2 => Quantiser::of(TWO).decode(codes, &mut buffer),
                3 => Quantiser::of(THREE).decode(codes, &mut buffer),
                _ => Quantiser::of(FOUR).decode(codes, &mut buffer),
            }
            rotation.backward(piece, &mut buffer, scale, values);
        }
        Ok(())
    }
}

/// Rotates a block, appends its symbols, and returns the scale for the decoder's `D H q`.
fn encode_block<const HALF: usize>(
    quantiser: Quantiser<HALF>,
    unbiased: bool,
    rotation: &Rotation,
    piece: Piece,
    values: &[f32],
    codes: &mut Vec<u8>,
) -> f32 {
    let normaliser = power_below(largest_magnitude(&values[piece.start..piece.start + piece.length]));
    let mut rotated = Vec::new();
    rotation.forward(piece, values, normaliser, &mut rotated);
    let start = codes.len();
    codes.resize(start + piece.padded, 0);
    let scale = quantise(quantiser, unbiased, &rotated, &mut codes[start..]);
    (scale / f64::from(normaliser)) as f32
}

/// Quantises a rotated block that is not normalised, and returns the scale.
pub(crate) fn quantise<const HALF: usize>(
    quantiser: Quantiser<HALF>,
    unbiased: bool,
    rotated: &[f32],
    codes: &mut [u8],
) -> f64 {
    let count = rotated.len() as f64;
    let squares = vectorised(
        #[inline(always)]
        || rotated.chunks(RUN).map(|run| sum_of_products(run, run)).sum::<f64>(),
    );
    if squares == 0.0 {
        return 0.0;
    }
    let deviation = (squares / count).sqrt() as f32;
    let quantiser = quantiser.for_deviation(deviation);
    let (product, length) = vectorised(
        #[inline(always)]
        || match unbiased {
            true => quantise_runs::<HALF, false>(quantiser, rotated, codes),
            false => quantise_runs::<HALF, true>(quantiser, rotated, codes),
        },
    );
    if unbiased { squares / count / product } else { product / count / length }
}

/// Writes the symbols. Returns the sum of the products of values and quantised values, and the sum of squares of the
/// quantised values if requested.
#[inline(always)]
fn quantise_runs<const HALF: usize, const WITH_LENGTH: bool>(
    quantiser: Quantiser<HALF>,
    rotated: &[f32],
    codes: &mut [u8],
) -> (f64, f64) {
    let (mut product, mut length) = (0.0, 0.0);
    let mut levels = [0.0; RUN];
    for (rotated, codes) in rotated.chunks(RUN).zip(codes.chunks_mut(RUN)) {
        let levels = &mut levels[..rotated.len()];
        // In a loop of its own, so that both loops can be vectorised.
        for ((value, code), level) in rotated.iter().zip(codes).zip(levels.iter_mut()) {
            (*code, *level) = quantiser.nearest(*value);
        }
        product += sum_of_products(rotated, levels);
        if WITH_LENGTH {
            length += sum_of_products(levels, levels);
        }
    }
    (product, length)
}

/// Returns the power of two that scales a magnitude to [1/2, 1), or as close to it as a normal number can.
fn power_below(magnitude: f32) -> f32 {
    let exponent = (magnitude.to_bits() >> 23) as i32 - 126;
    let opposite = (-exponent).clamp(-126, 127);
    f32::from_bits(((opposite + 127) as u32) << 23)
}
