//! Weights in blocks of integers, for downloads to the clients.
//!
//! Symmetric quantisation to the nearest of `2^bits - 1` levels between the block's largest magnitude and its negative
//! (absmax quantisation, Dettmers et al. 2022, "LLM.int8()", section 2.1, but per block instead of per vector). The
//! error of a value is at most half a step. The result is deterministic: every client gets the same weights.
//!
//! A tile: the scale of each block as bfloat16, rounded up; then the symbols.

use crate::codec::Fault;
use crate::codec::coding::{
    bytes::Bytes,
    halves::{from_brain16, to_brain16},
    symbols,
};
use crate::codec::transform::{lattice::Lattice, sums::largest_magnitude};

/// The parameters of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockWeights {
    /// The number of bits of a symbol: 4 or 8.
    pub bits: u8,
    /// The number of values that share a scale.
    pub block: usize,
}

impl BlockWeights {
    fn lattice(self, scale: u16) -> Lattice {
        let levels = (1 << (self.bits - 1)) - 1;
        Lattice { base: 0.0, step: from_brain16(scale) / f32::from(levels), offset: levels, top: 2 * levels }
    }

    /// Appends a tile.
    pub fn encode(self, values: &[f32], lossless: bool, out: &mut Vec<u8>) {
        let mut codes = vec![0; values.len()];
        for (block, codes) in values.chunks(self.block).zip(codes.chunks_mut(self.block)) {
            let largest = largest_magnitude(block);
            let nearest = to_brain16(largest);
            let scale = if from_brain16(nearest) < largest { nearest + 1 } else { nearest };
            out.extend(scale.to_le_bytes());
            self.lattice(scale).encode(block, None, codes);
        }
        symbols::write(&codes, (1 << self.bits) - 1, lossless, out);
    }

    /// Reads a tile.
    pub fn decode(self, bytes: &mut Bytes<'_>, values: &mut [f32]) -> Result<(), Fault> {
        let scales = bytes.take(2 * values.len().div_ceil(self.block))?.as_chunks::<2>().0;
        let mut codes = vec![0; values.len()];
        symbols::read(bytes, (1 << self.bits) - 1, &mut codes)?;
        let blocks = values.chunks_mut(self.block).zip(codes.chunks(self.block));
        for ((block, codes), scale) in blocks.zip(scales) {
            self.lattice(u16::from_le_bytes(*scale)).decode(codes, block);
        }
        Ok(())
    }
}
