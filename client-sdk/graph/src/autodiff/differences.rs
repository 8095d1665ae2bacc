//! Checks gradients against central differences along random directions. Used for whole networks, which are too large
//! to check element by element.

use rand_chacha::ChaCha20Rng;

use crate::random::standard_normal;

/// Half the distance between the two points of a central difference.
const STEP: f64 = 1e-6;

/// Compares directional derivatives of `loss_at` at `point` with those that `gradient` predicts, along random
/// directions. Each entry of `gradient` is an index into `point` and the partial derivative there.
///
/// Returns one relative difference for each direction. The divisor is the larger of the two derivatives, but at least
/// `floor`. A difference is NaN if a derivative is not finite. The function moves `point` while it runs and then moves
/// it back.
pub fn slope_differences(
    point: &mut [f64],
    gradient: &[(usize, f64)],
    floor: f64,
    directions: usize,
    rng: &mut ChaCha20Rng,
    mut loss_at: impl FnMut(&[f64]) -> f64,
) -> Vec<f64> {
    let mut difference = |_| {
        let direction: Vec<f64> = gradient.iter().map(|_| standard_normal(rng)).collect();
        let expected: f64 = gradient.iter().zip(&direction).map(|((_, slope), d)| slope * d).sum();
        let shift = |point: &mut [f64], offset: f64| {
            gradient.iter().zip(&direction).for_each(|((place, _), d)| point[*place] += offset * d);
        };
        shift(point, STEP);
        let above = loss_at(point);
        shift(point, -2.0 * STEP);
        let below = loss_at(point);
        shift(point, STEP);
        let found = (above - below) / (2.0 * STEP);
        match expected.is_finite() && found.is_finite() {
            true => (expected - found).abs() / expected.abs().max(found.abs()).max(floor),
            false => f64::NAN,
        }
    };
    (0..directions).map(&mut difference).collect()
}
