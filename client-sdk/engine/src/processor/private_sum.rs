//! The sum of clipped gradients as integers, and its noise. Together they hide single examples in a step of DP-SGD.

use super::clipping::norm;
use crate::step::NOISE_SCALE_MAX;
use crate::step::SecretChance;

/// The maximum number of grid steps in the clipping norm. The squares of integers up to this size add up exactly for
/// any number of weights, and sums over 2^31 examples fit into i64.
const NORM_STEPS_MAX: u64 = 1 << 32;

/// The factor for shrinking an example's integers while their norm is too large because of rounding.
const SHRINKING: f64 = 1.0 - 1e-6;

/// The grid for clipped gradients: N grid steps make up the clipping norm C, so one step is C / N.
#[derive(Debug, Clone, Copy, PartialEq)]
struct NormGrid {
    /// C, the clipping norm.
    bound: f64,
    /// N, an integer: the largest L2 norm of an example's integers, and therefore the sensitivity of their sum.
    norm_steps: u64,
    /// The scale of the noise, ⌈z·N⌉, at most 2^28.
    noise_scale: u64,
}

impl NormGrid {
    /// Returns the finest grid for which the noise scale is within its limit. `multiplier` is z; both arguments are
    /// above 0.
    fn new(bound: f32, multiplier: f32) -> Self {
        let multiplier = f64::from(multiplier);
        // Subtract 1 from the maximum scale, because the scale is rounded up below.
        let finest = ((NOISE_SCALE_MAX - 1) as f64 / multiplier).floor();
        let norm_steps = (finest as u64).clamp(1, NORM_STEPS_MAX);
        // Round up: the product may have been rounded down, and too little noise would break the privacy guarantee.
        let noise_scale = (multiplier * norm_steps as f64).next_up().ceil() as u64;
        Self { bound: f64::from(bound), norm_steps, noise_scale: noise_scale.clamp(1, NOISE_SCALE_MAX) }
    }
}

/// The sum over the examples of a step.
///
/// Its L2 sensitivity is exactly N grid steps. The squares of an example's integers add up to at most N², which is
/// checked in integer arithmetic. The contributions of the other examples do not depend on it. Sums saturate at the
/// limits of i64, which can only bring two sums closer together.
#[derive(Debug)]
pub(crate) struct PrivateSum {
    grid: NormGrid,
    /// One sum for each trained weight.
    sums: Vec<i64>,
}

impl PrivateSum {
    /// Creates a zero sum for `elements` trained weights, with the clipping norm `bound` and the noise multiplier.
    pub(crate) fn new(bound: f32, multiplier: f32, elements: usize) -> Self {
        Self { grid: NormGrid::new(bound, multiplier), sums: vec![0; elements] }
    }

    /// Starts a step.
    pub(crate) fn clear(&mut self) {
        self.sums.fill(0);
    }

    /// Adds an example's gradient, times its weight (0 or more) and clipped to the norm. Elements are rounded towards
    /// 0, so rounding cannot increase the norm. Skips a gradient that is not finite: an error instead would reveal
    /// something about the example.
    pub(crate) fn add<'a>(&mut self, tensors: impl Iterator<Item = &'a [f32]> + Clone, weight: f32) {
        let weight = f64::from(weight);
        let norm = weight * norm(tensors.clone());
        if !norm.is_finite() {
            return;
        }
        let NormGrid { bound, norm_steps, .. } = self.grid;
        let steps_max = u128::from(norm_steps) * u128::from(norm_steps);
        let mut factor = weight * (bound / norm).min(1.0) * (norm_steps as f64 / bound);
        while squares(tensors.clone(), factor) > steps_max {
            factor *= SHRINKING;
        }
        let elements = tensors.flatten().map(|element| steps(*element, factor));
        for (sum, steps) in self.sums.iter_mut().zip(elements) {
            *sum = sum.saturating_add(steps);
        }
    }

    /// Adds the noise and writes the noisy gradient: the sum divided by `divisor`, in the gradient's unit. Rounding
    /// after the noise cannot harm privacy.
    pub(crate) fn release(&mut self, chance: &mut dyn SecretChance, divisor: usize, gradient: &mut [f32]) {
        chance.add_noise(&mut self.sums, self.grid.noise_scale);
        let unit = self.grid.bound / self.grid.norm_steps as f64 / divisor as f64;
        for (element, sum) in gradient.iter_mut().zip(&self.sums) {
            *element = (*sum as f64 * unit) as f32;
        }
    }

    /// Returns the number of bytes that the sums take.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.sums[..])
    }

    #[cfg(test)]
    pub(crate) fn sums(&self) -> (&[i64], u64) {
        (&self.sums, self.grid.norm_steps)
    }
}

/// Converts an element to grid steps, rounded towards 0.
fn steps(element: f32, factor: f64) -> i64 {
    (f64::from(element) * factor) as i64
}

/// Returns the sum of the squares of an example's integers, each of which is below 2^33.
fn squares<'a>(tensors: impl Iterator<Item = &'a [f32]>, factor: f64) -> u128 {
    let squares = |tensor: &[f32]| -> u128 {
        tensor.iter().map(|element| u128::from(steps(*element, factor).unsigned_abs()).pow(2)).sum()
    };
    tensors.map(squares).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_noise_is_never_less_than_asked_for(bound in 1e-30f32..1e30, exponent in -40f32..9.9) {
            let multiplier = exponent.exp2();
            let grid = NormGrid::new(bound, multiplier);
            prop_assert!(grid.noise_scale as f64 >= f64::from(multiplier) * grid.norm_steps as f64);
            prop_assert!((1..=NOISE_SCALE_MAX).contains(&grid.noise_scale));
            prop_assert!(grid.noise_scale as f64 <= f64::from(multiplier) * grid.norm_steps as f64 + 1.001);
            let is_finest = grid.norm_steps == NORM_STEPS_MAX || grid.noise_scale > NOISE_SCALE_MAX / 2;
            prop_assert!(is_finest, "{grid:?}");
        }

        #[test]
        fn an_example_adds_no_more_than_the_norm(
            gradient in prop::collection::vec(any::<f32>(), 1..100), weight in 0f32..1e6,
            bound in 1e-3f32..1e3, multiplier in 0.01f32..1000.0,
        ) {
            let mut sum = PrivateSum::new(bound, multiplier, gradient.len());
            let (head, tail) = gradient.split_at(gradient.len() / 2);
            sum.add([head, tail].into_iter(), weight);
            let (sums, norm_steps) = sum.sums();
            let squares: u128 = sums.iter().map(|sum| u128::from(sum.unsigned_abs()).pow(2)).sum();
            prop_assert!(squares <= u128::from(norm_steps).pow(2));
            // Where the gradient is clipped, the norm is reached up to rounding.
            let norm = f64::from(weight) * norm([&gradient[..]].into_iter());
            if norm.is_finite() && norm > f64::from(bound) {
                let missing = norm_steps as f64 - (squares as f64).sqrt();
                prop_assert!(missing <= 1e-5 * norm_steps as f64 + gradient.len() as f64, "{missing}");
            }
        }
    }

    #[test]
    fn a_gradient_at_the_norm_is_kept_and_checked() {
        // 3² + 4² = 5²: the float norm and every integer are exact.
        let mut sum = PrivateSum::new(5.0, 1.0, 2);
        sum.add([&[3.0f32, -4.0][..]].into_iter(), 1.0);
        let (sums, norm_steps) = sum.sums();
        let unit = norm_steps as f64 / 5.0;
        assert_eq!(sums, [(3.0 * unit) as i64, (-4.0 * unit) as i64]);
        sum.clear();
        sum.add([&[f32::INFINITY, 1.0][..]].into_iter(), 1.0);
        sum.add([&[f32::NAN, 1.0][..]].into_iter(), 0.0);
        assert_eq!(sum.sums().0, [0, 0]);
        sum.add([&[f32::MAX, f32::MAX][..]].into_iter(), f32::MAX);
        assert!(sum.sums().0.iter().all(|sum| *sum > norm_steps as i64 / 2));
    }
}
