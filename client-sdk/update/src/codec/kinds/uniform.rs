//! Uniform stochastic quantisation between the smallest and the largest value of a block.
//!
//! Konečný et al. 2016, "Federated learning: strategies for improving communication efficiency", section 3:
//! probabilistic quantisation, optionally after a structured random rotation. The block's levels are
//! `low + i · (high - low) / (2^bits - 1)`, and the mean of the decoded value is the value.
//!
//! A tile: for each block `low` and `high` as float32, then the symbols.

use std::ops::Range;

use crate::codec::Fault;
use crate::codec::coding::{bytes::Bytes, symbols};
use crate::codec::transform::{
    lattice::Lattice,
    random::Place,
    rotation::{Rotation, pieces},
};

/// The parameters of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uniform {
    /// The number of bits of a symbol, from 1 to 8.
    pub bits: u8,
    /// The number of values in a block, a power of two.
    pub block: usize,
    /// True if blocks are rotated first.
    pub rotated: bool,
}

impl Uniform {
    fn alphabet(self) -> usize {
        1 << self.bits
    }

    fn lattice(self, low: f32, high: f32) -> Lattice {
        let top = (self.alphabet() - 1) as u8;
        // Halve first, because the difference of two large values may overflow.
        let step = (high * 0.5 - low * 0.5) / f32::from(top) * 2.0;
        Lattice { base: low, step, offset: 0, top }
    }

    /// Appends a tile.
    pub fn encode(self, values: &[f32], place: Place, lossless: bool, out: &mut Vec<u8>) {
        let blocks = self.blocks(values.len());
        let rotated = self.rotated.then(|| Rotation::of(place, self.block, values.len()).rotate_all(values));
        let values = rotated.as_deref().unwrap_or(values);
        let mut chances = vec![0; values.len()];
        place.chances().fill(&mut chances);
        let mut codes = vec![0; values.len()];
        for range in blocks {
            let block = &values[range.clone()];
            let (low, high) = extremes(block);
            out.extend(low.to_le_bytes());
            out.extend(high.to_le_bytes());
            self.lattice(low, high).encode(block, Some(&chances[range.clone()]), &mut codes[range]);
        }
        symbols::write(&codes, self.alphabet(), lossless, out);
    }

    /// Reads a tile.
    pub fn decode(self, bytes: &mut Bytes<'_>, place: Place, values: &mut [f32]) -> Result<(), Fault> {
        let blocks = self.blocks(values.len());
        let mut lattices = Vec::with_capacity(blocks.len());
        for _ in &blocks {
            let (low, high) = (bytes.f32()?, bytes.f32()?);
            lattices.push(self.lattice(low, high));
        }
        let count = blocks.last().map_or(0, |range| range.end);
        let mut codes = vec![0; count];
        symbols::read(bytes, self.alphabet(), &mut codes)?;
        let blocks = blocks.into_iter().zip(lattices);
        if !self.rotated {
            blocks.for_each(|(range, lattice)| lattice.decode(&codes[range.clone()], &mut values[range]));
            return Ok(());
        }
        let mut rotated = vec![0.0; count];
        blocks.for_each(|(range, lattice)| lattice.decode(&codes[range.clone()], &mut rotated[range]));
        Rotation::of(place, self.block, values.len()).rotate_all_back(&mut rotated, values);
        Ok(())
    }

    /// Returns the ranges of the blocks. If blocks are rotated, these are the blocks of the rotation, padding included.
    fn blocks(self, count: usize) -> Vec<Range<usize>> {
        if self.rotated {
            return pieces(count, self.block).map(|piece| piece.start..piece.start + piece.padded).collect();
        }
        (0..count).step_by(self.block).map(|start| start..count.min(start + self.block)).collect()
    }
}

/// Returns the smallest and the largest value, using sixteen lanes.
fn extremes(values: &[f32]) -> (f32, f32) {
    crate::codec::vectorised(
        #[inline(always)]
        || {
            let (groups, rest) = values.as_chunks::<16>();
            let (mut low, mut high) = ([f32::INFINITY; 16], [f32::NEG_INFINITY; 16]);
            for group in groups {
                for lane in 0..16 {
                    low[lane] = if group[lane] < low[lane] { group[lane] } else { low[lane] };
                    high[lane] = if group[lane] > high[lane] { group[lane] } else { high[lane] };
                }
            }
            let least = low.iter().chain(rest).copied().fold(f32::INFINITY, f32::min);
            (least, high.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max))
        },
    )
}
