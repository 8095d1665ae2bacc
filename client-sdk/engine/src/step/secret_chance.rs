//! The secret random number generator of example privacy.

/// The maximum scale passed to [`SecretChance::add_noise`], in grid steps.
pub(crate) const NOISE_SCALE_MAX: u64 = 1 << 28;

/// A source of random numbers that nobody else can know or repeat. The engine has no random number generator of its
/// own: the caller passes one to [`Trainer::set_secret_chance`](crate::Trainer::set_secret_chance).
///
/// Use a cryptographically secure generator seeded by the operating system. Anyone who knows the seed can remove the
/// noise. So never use a shared seed, such as the plan's or the assignment's.
pub trait SecretChance: Send {
    /// Returns 64 independent, uniform random bits.
    fn word(&mut self) -> u64;

    /// Adds an independent draw from the discrete Gaussian with mean 0 to every sum: P(x) ∝ e^(−x²/(2·scale²)). `scale`
    /// is from 1 to 2^28, in grid steps. Sums saturate at the limits of i64.
    fn add_noise(&mut self, sums: &mut [i64], scale: u64);
}
