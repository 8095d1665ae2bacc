//! The least noise for a budget, and the most rounds within one.

use crate::budget::{Epsilon, RangeError};
use crate::noise_multiplier::{NOISE_MULTIPLIER_MAX, NOISE_MULTIPLIER_MIN, NoiseMultiplier, Relation};

/// The relative precision of a calibrated multiplier, which is rounded up.
const PRECISION: f64 = 1e-4;

/// No multiplier keeps the budget.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrateError {
    /// Not even the largest multiplier is enough.
    #[error(
        "no noise multiplier up to {NOISE_MULTIPLIER_MAX} keeps epsilon at {target}; raise epsilon or delta, or plan fewer rounds"
    )]
    OutOfReach {
        /// The epsilon that was asked for.
        target: Epsilon,
    },
    /// A multiplier is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
}

/// Finds the smallest noise multiplier whose epsilon is at most `target`, to 0.01 %, rounded up.
///
/// `epsilon` is what is spent with a multiplier relative to `relation`; it must not rise with the multiplier. `None`
/// means that nothing can be claimed.
///
/// # Errors
/// [`CalibrateError::OutOfReach`] if no multiplier is enough.
///
/// ```
/// use folkmoot_privacy::{Delta, Epsilon, Relation, accountant, calibrate};
///
/// let (target, delta) = (Epsilon::new(2.0)?, Delta::new(1e-6)?);
/// // At most 10 participations, whoever chose them.
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
    let is_enough = |value: f64| -> Result<bool, RangeError> {
        let multiplier = NoiseMultiplier::new(value, relation)?;
        Ok(epsilon(multiplier).is_some_and(|spent| spent <= target))
    };
    let (mut low, mut high) = (NOISE_MULTIPLIER_MIN, 1.0);
    while !is_enough(high)? {
        if high >= NOISE_MULTIPLIER_MAX {
            return Err(CalibrateError::OutOfReach { target });
        }
        (low, high) = (high, (high * 4.0).min(NOISE_MULTIPLIER_MAX));
    }
    if low == NOISE_MULTIPLIER_MIN && is_enough(low)? {
        return Ok(NoiseMultiplier::new(low, relation)?);
    }
    while high > low * (1.0 + PRECISION) {
        let middle = (low * high).sqrt();
        if is_enough(middle)? { high = middle } else { low = middle }
    }
    Ok(NoiseMultiplier::new(high, relation)?)
}

/// Finds the largest number of releases, up to `releases_max`, whose epsilon is at most `target`; 0 if not even one is.
///
/// `epsilon` is what so many releases spend; it must not fall with their number.
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
