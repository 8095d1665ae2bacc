use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// The choices of one device, or of all check-ins. They depend on the seed and the number only.
pub struct Chance(ChaCha20Rng);

impl Chance {
    /// Creates the generator with this number.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&number.to_le_bytes());
        Self(ChaCha20Rng::from_seed(bytes))
    }

    /// Returns `true` with this chance.
    pub fn happens(&mut self, chance: f64) -> bool {
        self.0.random::<f64>() < chance
    }

    /// Returns a time below `longest`.
    pub fn part_of(&mut self, longest: Duration) -> Duration {
        longest.mul_f64(self.0.random())
    }

    /// Returns a number of bytes below `length`.
    pub fn bytes_below(&mut self, length: u64) -> u64 {
        self.0.random_range(0..length.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_follow_from_the_seed_and_the_number() {
        let choices = |seed, number| {
            let mut chance = Chance::new(seed, number);
            [(); 64].map(|()| chance.happens(0.5))
        };
        assert_eq!(choices(1, 2), choices(1, 2));
        assert_ne!(choices(1, 2), choices(1, 3));
        assert_ne!(choices(1, 2), choices(2, 2));
    }

    #[test]
    fn never_and_always_are_exact() {
        let mut chance = Chance::new(7, 0);
        assert!((0..1000).all(|_| !chance.happens(0.0) && chance.happens(1.0)));
        assert_eq!(chance.bytes_below(0), 0);
        assert!((0..1000).all(|_| chance.bytes_below(3) < 3));
    }
}
