//! A random number generator for tests.

use folkmoot_graph::random::standard_normal;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::SecretChance;

/// A seeded generator with rounded normal noise. It gives no privacy: never use it for real training.
pub(crate) struct SeededChance(ChaCha20Rng);

impl SeededChance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }
}

impl SecretChance for SeededChance {
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn add_noise(&mut self, sums: &mut [i64], scale: u64) {
        for sum in sums {
            *sum = sum.saturating_add((standard_normal(&mut self.0) * scale as f64).round() as i64);
        }
    }
}
