//! Draws that read like sentences.

use std::ops::RangeInclusive;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A seeded generator.
pub struct Chance(pub ChaCha8Rng);

impl Chance {
    /// Makes the generator of a seed, for one purpose.
    pub fn of(seed: u64, purpose: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&purpose.to_le_bytes());
        Self(ChaCha8Rng::from_seed(bytes))
    }

    /// Draws from a range.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        self.0.random_range(range)
    }

    /// Draws an index below `count`, which is above 0.
    pub fn below(&mut self, count: usize) -> usize {
        self.0.random_range(0..count)
    }

    /// Is true so many times in a thousand.
    pub fn happens(&mut self, in_a_thousand: u64) -> bool {
        in_a_thousand > 0 && self.0.random_range(0..1000) < in_a_thousand
    }

    /// Draws 16 bytes for an id.
    pub fn id(&mut self) -> [u8; 16] {
        self.0.random()
    }

    /// Draws a number in ±`most`.
    pub fn signed(&mut self, most: u64) -> i64 {
        let most = most as i64;
        self.0.random_range(-most..=most)
    }
}
