//! Calibration: the smallest noise multiplier for a budget, and the largest number of releases within one.

use crate::budget::{Epsilon, RangeError};
use crate::noise_multiplier::{NOISE_MULTIPLIER_MAX, NOISE_MULTIPLIER_MIN, NoiseMultiplier, Relation};

/// The relative precision of a calibrated multiplier, which is rounded up.
const PRECISION: f64 = 1e-4;

/// The factor between successive multipliers while the search brackets the target epsilon.
const FACTOR: f64 = 4.0;

/// No noise multiplier meets the budget.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrateError {
    /// Even the largest multiplier exceeds the budget.
    #[error(
        "no noise multiplier up to {NOISE_MULTIPLIER_MAX} keeps epsilon at {target}; raise epsilon or delta, or plan fewer rounds"
    )]
    OutOfReach {
        /// The requested epsilon.
        target: Epsilon,
    },
    /// A multiplier is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
}

/// Finds the smallest noise multiplier whose epsilon is at most `target`, to 0.01 %, rounded up.
///
/// `epsilon` returns the epsilon that is spent with a given multiplier, which is relative to `relation`. It must not
/// increase with the multiplier. `None` means that no epsilon bounds the cost.
///
/// # Errors
/// [`CalibrateError::OutOfReach`] if no multiplier up to [`NOISE_MULTIPLIER_MAX`] meets the target.
///
/// ```
/// use folkmoot_privacy::{Delta, Epsilon, Relation, accountant, calibrate};
///
/// let (target, delta) = (Epsilon::new(2.0)?, Delta::new(1e-6)?);
/// // At most 10 participations, no matter which rounds.
/// let spent = |multiplier| Some(accountant::zcdp_epsilon(accountant::rho_of_gaussian(multiplier, 10), delta));
/// let multiplier = calibrate::smallest_multiplier(target, Relation::ZeroOut, spent)?;
/// assert!(spent(multiplier).is_some_and(|epsilon| epsilon <= target));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn smallest_multiplier(
    target: Epsilon,
    relation: Relation,
    epsilon: impl Fn(NoiseMultiplier) -> Option<Epsilon>,
) -> Result<NoiseMultiplier, CalibrateError> {
    let goal = target.get();
    // Returns ln(spent / goal). The multiplier meets the target if this is at most 0.
    let excess = |value: f64| -> Result<f64, RangeError> {
        let spent = epsilon(NoiseMultiplier::new(value, relation)?);
        Ok(spent.map_or(f64::INFINITY, |spent| {
            let excess = (spent.get() / goal).ln();
            // Compare the epsilons, not their logarithms: spending 0 of a budget of 0 meets the target, although
            // ln(0/0) is NaN.
            if spent <= target { excess.min(0.0) } else { excess.max(f64::MIN_POSITIVE) }
        }))
    };
    let mut high = Tried::at(1.0, excess)?;
    let mut low = high;
    while !high.is_enough() {
        if high.value >= NOISE_MULTIPLIER_MAX {
            return Err(CalibrateError::OutOfReach { target });
        }
        low = high;
        high = Tried::at((high.value * FACTOR).min(NOISE_MULTIPLIER_MAX), excess)?;
    }
    while low.is_enough() {
        if low.value <= NOISE_MULTIPLIER_MIN {
            return Ok(NoiseMultiplier::new(low.value, relation)?);
        }
        high = low;
        low = Tried::at((low.value / FACTOR).max(NOISE_MULTIPLIER_MIN), excess)?;
    }
    let mut is_bisected = false;
    while high.value > low.value * (1.0 + PRECISION) {
        let width = (high.value / low.value).ln();
        let share = if is_bisected { 0.5 } else { likely_share(low.excess, high.excess, width) };
        let next = Tried::at(low.value * (share * width).exp(), excess)?;
        if next.is_enough() {
            high = next
        } else {
            low = next
        }
        // If interpolation did not halve the interval, bisect next.
        is_bisected = !is_bisected && (high.value / low.value).ln() > 0.5 * width;
    }
    Ok(NoiseMultiplier::new(high.value, relation)?)
}

/// A multiplier that was tried, and its result.
#[derive(Clone, Copy)]
struct Tried {
    value: f64,
    /// ln(spent / goal) of its epsilon; at most 0 if the multiplier meets the target.
    excess: f64,
}

impl Tried {
    fn at(value: f64, excess: impl Fn(f64) -> Result<f64, RangeError>) -> Result<Self, RangeError> {
        Ok(Self { value, excess: excess(value)? })
    }

    fn is_enough(&self) -> bool {
        self.excess <= 0.0
    }
}

/// Guesses the position of the target in the interval, as a share of its width. It interpolates linearly in logarithms
/// and then moves slightly towards the middle, so that the interval closes from both sides.
fn likely_share(low: f64, high: f64, width: f64) -> f64 {
    let share = low / (low - high);
    if !share.is_finite() || !high.is_finite() {
        return 0.5;
    }
    let inward = (0.1 * width).max(0.4 * PRECISION / width).min((share - 0.5).abs());
    if share < 0.5 { share + inward } else { share - inward }
}

/// Finds the largest number of releases, up to `releases_max`, whose epsilon is at most `target`; 0 if even one release
/// exceeds it.
///
/// `epsilon` returns the epsilon that a number of releases spends. It must not decrease with that number; `None` counts
/// as above `target`.
pub fn largest_releases(target: Epsilon, releases_max: u64, epsilon: impl Fn(u64) -> Option<Epsilon>) -> u64 {
    let is_within = |releases: u64| epsilon(releases).is_some_and(|spent| spent <= target);
    let (mut low, mut high) = (0, 1u64);
    while high < releases_max && is_within(high) {
        (low, high) = (high, high.saturating_mul(2));
    }
    high = high.min(releases_max);
    if is_within(high) {
        return high;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_within(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, accountant};

    #[test]
    fn rounds_and_noise_undo_each_other() {
        let delta = Delta::new(1e-6).unwrap();
        let target = Epsilon::new(3.0).unwrap();
        for releases in [1, 7, 1000] {
            let spent = |multiplier, releases| {
                Some(accountant::zcdp_epsilon(accountant::rho_of_gaussian(multiplier, releases), delta))
            };
            let multiplier =
                smallest_multiplier(target, Relation::ZeroOut, |multiplier| spent(multiplier, releases))
                    .unwrap();
            assert_eq!(largest_releases(target, 1_000_000, |releases| spent(multiplier, releases)), releases);
            assert_eq!(
                largest_releases(target, releases / 2, |releases| spent(multiplier, releases)),
                releases / 2
            );
        }
    }

    #[test]
    fn what_cannot_be_reached_is_said() {
        let target = Epsilon::new(1.0).unwrap();
        let error = smallest_multiplier(target, Relation::ZeroOut, |_| None).unwrap_err();
        assert!(error.to_string().contains("plan fewer rounds"), "{error}");
        assert_eq!(largest_releases(target, 100, |_| None), 0);
        let free = smallest_multiplier(target, Relation::ZeroOut, |_| Epsilon::new(0.0).ok()).unwrap();
        assert_eq!(free.get(), NOISE_MULTIPLIER_MIN);
    }
}
