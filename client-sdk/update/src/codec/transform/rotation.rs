//! Rotates the blocks of a tile, each with its own randomised Hadamard rotation `H D / sqrt(d)`.
//!
//! Ailon and Chazelle 2009, "The fast Johnson-Lindenstrauss transform"; Suresh et al. 2017, "Distributed mean
//! estimation with limited communication", section 3. `D` contains the tile's random signs, and `H` is Sylvester's
//! matrix.

use super::{
    hadamard::{Signs, transform},
    random::Place,
};

/// The minimum length of a block that needs no padding. A shorter rest is padded to a power of two.
const PIECE_MIN: usize = 64;

/// A block of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The index of the block's first value in the tile, a multiple of 64.
    pub start: usize,
    /// The number of values in the block.
    pub length: usize,
    /// The number of values in the block including zero padding, a power of two.
    pub padded: usize,
}

/// Splits a tile into full blocks, then the remainder into powers of two, of which the last is padded.
///
/// Padding 4,097 values to 8,192 instead would double the bytes.
pub(crate) fn pieces(count: usize, block: usize) -> impl Iterator<Item = Piece> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let left = count - start;
        let length = match left {
            0 => return None,
            _ if left >= block => block,
            _ if left >= PIECE_MIN => 1 << left.ilog2(),
            _ => left,
        };
        start += length;
        Some(Piece { start: start - length, length, padded: length.next_power_of_two() })
    })
}

/// The rotation of one tile.
pub(crate) struct Rotation {
    signs: Signs,
    block: usize,
    count: usize,
}

impl Rotation {
    /// Draws the rotation of a tile of `count` values.
    pub fn of(place: Place, block: usize, count: usize) -> Self {
        Self { signs: Signs::of(place, count), block, count }
    }

    /// Returns the tile's blocks.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        pieces(self.count, self.block)
    }

    /// Fills `buffer` with a block's values times `factor`, rotated but not normalised: too long by a factor of
    /// sqrt(d).
    pub fn forward(&self, piece: Piece, values: &[f32], factor: f32, buffer: &mut Vec<f32>) {
        buffer.clear();
        self.append(piece, values, factor, buffer);
    }

    /// Like [`Self::forward`], but appends to `all`.
    fn append(&self, piece: Piece, values: &[f32], factor: f32, all: &mut Vec<f32>) {
        let start = all.len();
        all.extend_from_slice(&values[piece.start..piece.start + piece.length]);
        self.signs.apply(piece.start, factor, &mut all[start..]);
        all.resize(start + piece.padded, 0.0);
        transform(&mut all[start..]);
    }

    /// Rotates a block back, without normalising, and multiplies it by `factor`. Overwrites `rotated`.
    pub fn backward(&self, piece: Piece, rotated: &mut [f32], factor: f32, values: &mut [f32]) {
        transform(rotated);
        let values = &mut values[piece.start..piece.start + piece.length];
        values.copy_from_slice(&rotated[..piece.length]);
        self.signs.apply(piece.start, factor, values);
    }

    /// Rotates every block, normalised. The result includes each block's padding.
    pub fn rotate_all(&self, values: &[f32]) -> Vec<f32> {
        let mut all = Vec::with_capacity(values.len() + PIECE_MIN);
        for piece in self.pieces() {
            self.append(piece, values, normaliser(piece), &mut all);
        }
        all
    }

    /// Rotates every block back, normalised.
    pub fn rotate_all_back(&self, rotated: &mut [f32], values: &mut [f32]) {
        // Only the last block is padded, so all blocks start at the same index with and without padding.
        for piece in self.pieces() {
            let block = &mut rotated[piece.start..piece.start + piece.padded];
            self.backward(piece, block, normaliser(piece), values);
        }
    }
}

fn normaliser(piece: Piece) -> f32 {
    1.0 / (piece.padded as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_cover_a_tile(count in 0usize..70_000, exponent in 6u32..=16) {
            let all: Vec<Piece> = pieces(count, 1 << exponent).collect();
            let mut at = 0;
            for piece in &all {
                prop_assert_eq!((piece.start, piece.start % PIECE_MIN), (at, 0));
                prop_assert!(piece.padded.is_power_of_two() && piece.padded < 2 * piece.length.max(1));
                at += piece.length;
            }
            prop_assert_eq!(at, count);
            prop_assert!(all.iter().rev().skip(1).all(|piece| piece.padded == piece.length));
        }

        #[test]
        fn a_rotation_is_undone_and_keeps_the_length(count in 1usize..3000, seed: u64) {
            let values: Vec<f32> = (0..count).map(|at| ((at * 7919) % 1000) as f32 - 500.0).collect();
            let rotation = Rotation::of(Place { seed, tensor: 0, tile: 0 }, 1024, count);
            let mut rotated = rotation.rotate_all(&values);
            let length = |values: &[f32]| values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            prop_assert!((length(&rotated) / length(&values) - 1.0).abs() < 1e-5);
            let mut back = vec![0.0; count];
            rotation.rotate_all_back(&mut rotated, &mut back);
            for (back, value) in back.iter().zip(&values) {
                prop_assert!((back - value).abs() < 1e-2, "{back} {value}");
            }
        }
    }
}
