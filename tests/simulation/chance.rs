//! The random number generator of a world.

use std::ops::RangeInclusive;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A seeded random number generator.
pub struct Chance(pub ChaCha8Rng);

impl Chance {
    /// Creates the generator of a seed. Different purposes get independent streams.
    pub fn of(seed: u64, purpose: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&purpose.to_le_bytes());
        Self(ChaCha8Rng::from_seed(bytes))
    }

    /// Returns a random number in a range.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        self.0.random_range(range)
    }

    /// Returns a random index below `count`, which must be greater than 0.
    pub fn below(&mut self, count: usize) -> usize {
        self.0.random_range(0..count)
    }

    /// Returns `true` with a probability of `in_a_thousand` / 1000.
    pub fn happens(&mut self, in_a_thousand: u64) -> bool {
        in_a_thousand > 0 && self.0.random_range(0..1000) < in_a_thousand
    }

    /// Returns 16 random bytes for an id.
    pub fn id(&mut self) -> [u8; 16] {
        self.0.random()
    }

    /// Returns a random number in -`most`..=`most`.
    pub fn signed(&mut self, most: u64) -> i64 {
        let most = most as i64;
        self.0.random_range(-most..=most)
    }
}
