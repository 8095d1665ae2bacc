//! QSGD and TernGrad: one scale per bucket, and signed levels between the scale and its negative, rounded
//! stochastically.
//!
//! QSGD (Alistarh et al. 2017, section 3.1): the scale is the bucket's L2 norm, and a value becomes
//! `norm · sign · l / s` with `l = floor(s · |x| / norm) + Bernoulli(fraction)`. TernGrad (Wen et al. 2017,
//! "TernGrad"): the scale is the largest magnitude after clipping at a number of standard deviations, and there is one
//! level. Here both round signed numbers, which gives the same mean and variance.
//!
//! A tile: the scale of each bucket as float32, then the symbols `level + s`.

use crate::codec::Fault;
use crate::codec::coding::{bytes::Bytes, symbols};
use crate::codec::transform::{
    lattice::Lattice,
    random::Place,
    sums::{largest_magnitude, sum_of_squares},
};

/// The parameters of the format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Levels {
    /// The number of levels above zero, from 1 to 127.
    pub levels: u8,
    /// The number of values that share a scale.
    pub bucket: usize,
}

/// The way in which the scale of a bucket is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// The L2 norm.
    Norm,
    /// The largest magnitude, after values are clipped at this many standard deviations around 0.
    Largest {
        /// The number of standard deviations; `None` clips nothing.
        clip_deviations: Option<f64>,
    },
}

impl Levels {
    fn lattice(self, scale: f32) -> Lattice {
        let step = scale / f32::from(self.levels);
        Lattice { base: 0.0, step, offset: self.levels, top: 2 * self.levels }
    }

    fn alphabet(self) -> usize {
        2 * usize::from(self.levels) + 1
    }

    /// Appends a tile.
    pub fn encode(self, scale: Scale, values: &[f32], place: Place, lossless: bool, out: &mut Vec<u8>) {
        let mut chances = vec![0; values.len()];
        place.chances().fill(&mut chances);
        let mut codes = vec![0; values.len()];
        let buckets = values.chunks(self.bucket).zip(chances.chunks(self.bucket));
        for ((bucket, chances), codes) in buckets.zip(codes.chunks_mut(self.bucket)) {
            let scale = scale.of(bucket);
            out.extend(scale.to_le_bytes());
            // The lattice ends at the scale, so values beyond it are clipped.
            self.lattice(scale).encode(bucket, Some(chances), codes);
        }
        symbols::write(&codes, self.alphabet(), lossless, out);
    }

    /// Reads a tile.
    pub fn decode(self, bytes: &mut Bytes<'_>, values: &mut [f32]) -> Result<(), Fault> {
        let mut scales = Vec::with_capacity(values.len().div_ceil(self.bucket));
        for _ in 0..values.len().div_ceil(self.bucket) {
            scales.push(bytes.f32()?);
        }
        let mut codes = vec![0; values.len()];
        symbols::read(bytes, self.alphabet(), &mut codes)?;
        let buckets = values.chunks_mut(self.bucket).zip(codes.chunks(self.bucket));
        for ((bucket, codes), scale) in buckets.zip(scales) {
            self.lattice(scale).decode(codes, bucket);
        }
        Ok(())
    }
}

impl Scale {
    fn of(self, values: &[f32]) -> f32 {
        match self {
            Self::Norm => above(sum_of_squares(values).sqrt()),
            Self::Largest { clip_deviations } => {
                let largest = largest_magnitude(values);
                let Some(deviations) = clip_deviations else { return largest };
                let sum: f64 = values.iter().map(|value| f64::from(*value)).sum();
                let mean = sum / values.len() as f64;
                let variance = sum_of_squares(values) / values.len() as f64 - mean * mean;
                largest.min((deviations * variance.max(0.0).sqrt()) as f32)
            }
        }
    }
}

/// Rounds to float32, but not down, so that no value exceeds the norm.
fn above(norm: f64) -> f32 {
    let nearest = norm as f32;
    if f64::from(nearest) < norm { nearest.next_up() } else { nearest }
}
