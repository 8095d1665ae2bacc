use std::fmt;

use crate::budget::RangeError;

/// The number of significant bits of a scale. The exact sampler's fractions stay short, and noise grows by at most
/// 1e-7.
const SIGNIFICANT_BITS: i32 = 24;

/// The smallest scale, in grid steps. Below it, nearly every draw is 0.
const SCALE_MIN: f64 = 1.0 / 1024.0;

/// The largest scale, in grid steps: 64 times this scale fits into an i64, with room for a sum.
const SCALE_MAX: f64 = (1u64 << 52) as f64;

/// The standard deviation of discrete Gaussian noise, in steps of the grid.
///
/// It is rounded up to 24 significant bits, so a [`NoiseScale`] is never less than requested.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct NoiseScale(f64);

impl NoiseScale {
    /// Validates a scale and rounds it up.
    ///
    /// # Errors
    /// [`RangeError`] if `scale` is not between 1/1024 and 2^52.
    pub fn new(scale: f64) -> Result<Self, RangeError> {
        let is_right = (SCALE_MIN..=SCALE_MAX).contains(&scale);
        RangeError::unless(is_right, "noise scale", scale, "at least 1/1024 and at most 2^52 grid steps")?;
        let unit = f64::from(scale.log2().floor() as i32 - SIGNIFICANT_BITS + 1).exp2();
        Ok(Self((scale / unit).ceil() * unit))
    }

    /// Returns the standard deviation in grid steps.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns a magnitude that a draw exceeds with a probability below e^-2000: 64 scales, and 64 steps.
    pub fn reach(self) -> i64 {
        (64.0 * self.0).ceil() as i64 + 64
    }

    /// Returns the scale as a fraction: (numerator, binary logarithm of the denominator).
    #[cfg(any(test, feature = "dangerous-seeded-noise"))]
    pub(super) fn as_fraction(self) -> (u64, u32) {
        let mut bits = 0;
        let mut numerator = self.0;
        while numerator.fract() != 0.0 {
            numerator *= 2.0;
            bits += 1;
        }
        (numerator as u64, bits)
    }
}

impl fmt::Display for NoiseScale {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_rounded_up_by_little() {
        for scale in [SCALE_MIN, 0.3, 1.0, std::f64::consts::PI, 1e6 + 0.123_456, SCALE_MAX] {
            let rounded = NoiseScale::new(scale).unwrap();
            assert!(rounded.get() >= scale && rounded.get() <= scale * (1.0 + 2.4e-7), "{scale}");
            let (numerator, bits) = rounded.as_fraction();
            assert_eq!(numerator as f64 / f64::from(bits).exp2(), rounded.get());
            assert!(NoiseScale::new(rounded.get()) == Ok(rounded));
            assert!(rounded.reach() < i64::MAX / 16);
        }
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-4, 1e16] {
            assert!(NoiseScale::new(wrong).is_err());
        }
    }
}
