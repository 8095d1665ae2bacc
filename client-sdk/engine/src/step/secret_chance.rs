//! Where example privacy takes its coins and its noise from.

/// The largest scale that [`SecretChance::add_noise`] is asked for, in steps.
pub(crate) const NOISE_SCALE_MAX: u64 = 1 << 28;

/// Chance that nobody else can know or repeat. The engine owns none: who trains gives it to
/// [`Trainer::set_secret_chance`](crate::Trainer::set_secret_chance).
///
/// Its source is a cryptographic generator that the operating system seeds. From a seed that somebody knows, such as the
/// plan's or the assignment's, the noise could be taken off again.
pub trait SecretChance: Send {
    /// Draws 64 bits, each 0 or 1 alike.
    fn word(&mut self) -> u64;

    /// Adds to every sum a draw of its own of the discrete Gaussian around 0: P(x) ∝ e^(−x²/(2·scale²)), with a scale from 1
    /// to 2^28. Where a sum would pass the end of i64 it stays there.
    fn add_noise(&mut self, sums: &mut [i64], scale: u64);
}
