use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

use super::{NoiseScale, exact};

/// Reproducible noise. Whoever knows the seed can subtract it from the release, so use it for simulations and tests
/// only.
pub struct SeededNoise(ChaCha20Rng);

impl SeededNoise {
    /// Creates the generator from a seed.
    pub fn new(seed: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(seed))
    }

    /// Fills `noise` with draws of the discrete Gaussian.
    pub fn fill(&mut self, noise: &mut [i64], scale: NoiseScale) {
        noise.iter_mut().for_each(|value| *value = exact::discrete_gaussian(scale, self));
    }
}

impl exact::RandomBytes for SeededNoise {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}
