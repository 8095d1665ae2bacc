//! QSGD and TernGrad: a scale for each bucket, and signed levels between it and its negative, rounded at
//! random.
//!
//! QSGD (Alistarh et al. 2017, section 3.1): the scale is the bucket's L2 norm and a value becomes
//! `norm · sign · l / s` with `l = floor(s · |x| / norm) + Bernoulli(fraction)`. TernGrad (Wen et al. 2017,
//! "TernGrad"): the scale is the largest magnitude, after clipping at so many standard deviations, and there
//! is one level. Both are rounded as signed numbers, which has the same mean and the same variance.
//!
//! A tile: the scale of each bucket as float32, then the symbols `level + s`.

use crate::codec::Fault;
use crate::codec::coding::{bytes::Bytes, symbols};
use crate::codec::transform::{
    lattice::Lattice,
    random::Place,
    sums::{largest_magnitude, sum_of_squares},
};

/// The choice of the format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Levels {
    /// Levels above zero, from 1 to 127.
    pub levels: u8,
    /// Values that share a scale.
    pub bucket: usize,
}

/// How the scale of a bucket is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// The L2 norm.
    Norm,
    /// The largest magnitude, of values that are clipped at so many standard deviations around 0.
    Largest {
        /// Standard deviations; `None` clips nothing.
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
            // The lattice ends at the scale: what lies beyond is clipped there.
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

/// Rounds to float32, not down: no value is then above the norm.
fn above(norm: f64) -> f32 {
    let nearest = norm as f32;
    if f64::from(nearest) < norm { nearest.next_up() } else { nearest }
}
