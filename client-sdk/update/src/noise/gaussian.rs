use rand::CryptoRng;

use super::bernoulli::{below, exponential_coin, fraction_coin, inverse_e_coin};

/// The maximum scale of [`DiscreteGaussian`], in steps.
const SCALE_MAX: u64 = 1 << 28;

/// The scale is outside the sampler's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scale of the noise is {scale}; it must be from 1 to {scale_max} steps")]
pub struct ScaleError {
    /// The scale.
    pub scale: u64,
    /// The maximum scale.
    pub scale_max: u64,
}

/// The discrete Gaussian distribution around 0: P(x) ∝ e^(−x²/(2·scale²)) for every integer x.
///
/// Samples are exact, except that they saturate at the end of i64, with a probability below e^-(2^34). The bound on the
/// scale makes integers sufficient. With scale s ≤ 2^28:
/// - 2s² ≤ 2^57, so the denominator fits into a u64.
/// - A magnitude u + s·v with u < s and v < 2^35 − 1 is below 2^63. v reaches 2^35 − 1 with probability e^-(2^35 − 1).
/// - The square of the distance of any u64 from s fits into a u128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscreteGaussian {
    scale: u64,
}

impl DiscreteGaussian {
    /// The maximum scale: 2^28 steps.
    pub const SCALE_MAX: u64 = SCALE_MAX;

    /// Creates the distribution with this scale in steps, from 1 to [`DiscreteGaussian::SCALE_MAX`]. The standard
    /// deviation is at most the scale, and smaller by less than 1e-15 of it.
    ///
    /// # Errors
    /// [`ScaleError`] if the scale is out of range.
    pub fn new(scale: u64) -> Result<Self, ScaleError> {
        let is_right = (1..=SCALE_MAX).contains(&scale);
        if is_right { Ok(Self { scale }) } else { Err(ScaleError { scale, scale_max: SCALE_MAX }) }
    }

    /// Returns the scale in steps.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// Draws one integer, independently of earlier calls.
    ///
    /// Canonne, Kamath and Steinke 2020, algorithm 3, with t = s, which is possible because the scale s is an integer of
    /// at least 1. A candidate y from the discrete Laplace distribution with scale s is accepted with probability
    /// e^(−(|y| − s)²/(2s²)). Because y²/(2s²) = |y|/s + (|y| − s)²/(2s²) − 1/2, accepted values are discrete Gaussian.
    /// About three of four candidates are accepted.
    pub fn sample(&self, rng: &mut impl CryptoRng) -> i64 {
        loop {
            let candidate = discrete_laplace(self.scale, rng);
            let distance = u128::from(candidate.unsigned_abs().abs_diff(self.scale));
            if exponential_coin(distance * distance, 2 * self.scale * self.scale, rng) {
                return candidate;
            }
        }
    }
}

/// Draws from the discrete Laplace distribution: P(x) ∝ e^(−|x|/scale) (algorithm 2 of the same paper).
#[inline]
fn discrete_laplace(scale: u64, rng: &mut impl CryptoRng) -> i64 {
    loop {
        let rest = below(scale, rng);
        if !fraction_coin(rest, scale, rng) {
            continue;
        }
        let mut multiple = 0u64;
        while inverse_e_coin(rng) {
            multiple += 1;
        }
        let magnitude = scale.saturating_mul(multiple).saturating_add(rest);
        let magnitude = i64::try_from(magnitude).unwrap_or(i64::MAX);
        match (rng.next_u32() & 1 == 1, magnitude) {
            // Reject -0; otherwise 0 would come up twice as often.
            (true, 0) => {}
            (true, _) => return -magnitude,
            (false, _) => return magnitude,
        }
    }
}
