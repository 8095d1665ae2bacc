use folkmoot_engine::SecretChance;
use folkmoot_update::noise::DiscreteGaussian;
use rand::{Rng, SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

/// The random number generator for example privacy: ChaCha20 with a seed from the operating system, which is not
/// stored.
///
/// It is not the host's generator, because a host can be created with a known seed, and noise from a
/// known seed can be subtracted again.
pub struct SystemChance(ChaCha20Rng);

impl SystemChance {
    /// Seeds the generator.
    ///
    /// # Errors
    /// The operating system's error if it provides no random bytes.
    pub fn new() -> std::io::Result<Self> {
        ChaCha20Rng::try_from_rng(&mut SysRng).map(Self).map_err(std::io::Error::other)
    }
}

impl SecretChance for SystemChance {
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn add_noise(&mut self, sums: &mut [i64], scale: u64) {
        let noise = DiscreteGaussian::new(scale).expect("the engine asks for scales from 1 to 2^28");
        for sum in sums {
            *sum = sum.saturating_add(noise.sample(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_is_discrete_gaussian_around_the_sums_and_never_the_same() {
        for scale in [1, 1 << 28] {
            let [first, second] = [0; 2].map(|_| {
                let mut sums = vec![1000i64; 100_000];
                SystemChance::new().unwrap().add_noise(&mut sums, scale);
                sums
            });
            assert_ne!(first, second);
            let deviations = first.iter().map(|sum| (*sum - 1000) as f64 / scale as f64);
            let (mean, square) =
                deviations.fold((0.0, 0.0), |(mean, square), x| (mean + x / 1e5, square + x * x / 1e5));
            // Six standard deviations of the mean and of the variance.
            assert!(mean.abs() < 6.0 / 1e5f64.sqrt(), "{mean}");
            assert!((square - 1.0).abs() < 6.0 * (2.0 / 1e5f64).sqrt(), "{square}");
        }
    }

    #[test]
    fn sums_stay_at_the_end() {
        let mut sums = [i64::MAX, i64::MIN].repeat(50);
        SystemChance::new().unwrap().add_noise(&mut sums, 1 << 28);
        assert!(sums.iter().step_by(2).all(|sum| *sum > i64::MAX / 2));
        assert!(sums.iter().skip(1).step_by(2).all(|sum| *sum < i64::MIN / 2));
    }

    #[test]
    fn words_are_all_different() {
        let mut chance = SystemChance::new().unwrap();
        let mut words: Vec<u64> = (0..1000).map(|_| chance.word()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 1000);
    }
}
