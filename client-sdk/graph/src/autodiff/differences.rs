//! Gradients against central differences along random directions, where a whole network is too large to go through
//! element by element.

use rand_chacha::ChaCha20Rng;

use crate::random::standard_normal;

/// Half the distance between the two points of a central difference.
const STEP: f64 = 1e-6;

/// Compares the slope of `loss_at` at `point` along random directions with its `gradient`, which gives the place of each
/// number in `point` and the derivative there. Returns the difference along each, relative to the larger of the two slopes
/// or to `floor`; it is NaN where a slope is not finite. The point is moved, and brought back.
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
