//! The exact L2 norm of an update on the grid, and clipping to a norm.
//!
//! Norms are integers in steps of the grid (2^-fraction_bits). The coordinator's check and the calibration of the noise
//! therefore use the same number, without rounding in between.

use folkmoot_protocol::ValueGrid;

use crate::grid::{scale, to_grid};

/// The factor by which a clipped norm stays below the bound, so that float64 rounding in a million additions cannot
/// exceed it.
const MARGIN: f64 = 1.0 - 1e-9;

/// An exact sum of squares of values on the grid. It has room for 2^24 values of at most 2^51 steps each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SquaredNorm(u128);

impl SquaredNorm {
    /// Adds float32 values (little-endian, a multiple of 4 bytes), which must be finite and inside the grid.
    pub fn add(&mut self, bytes: &[u8], grid: &ValueGrid) {
        let scale = scale(grid, 1.0);
        let (values, _) = bytes.as_chunks::<4>();
        for value in values {
            self.add_steps(to_grid(f32::from_le_bytes(*value), scale));
        }
    }

    /// Returns the norm of integers.
    pub fn of_steps(steps: impl Iterator<Item = i64>) -> Self {
        let mut norm = Self::default();
        steps.for_each(|steps| norm.add_steps(steps));
        norm
    }

    #[inline]
    fn add_steps(&mut self, steps: i64) {
        let steps = u128::from(steps.unsigned_abs());
        self.0 = self.0.saturating_add(steps * steps);
    }

    /// Returns the norm of these values and those of another part combined.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns whether the norm is at most `steps`.
    pub fn is_within(&self, steps: u64) -> bool {
        self.0 <= u128::from(steps) * u128::from(steps)
    }

    /// Returns the norm in steps, rounded to float64.
    pub fn steps(&self) -> f64 {
        (self.0 as f64).sqrt()
    }
}

/// Scales an update so that its L2 norm over all tensors, measured on the grid, is at most `steps`. A shorter update is
/// unchanged. Non-finite values are not changed; [`check_values`](crate::check_values) refuses them later.
///
/// The elements of a scaled update are rounded towards zero to the grid, so that rounding never increases the norm.
/// (Abadi et al. 2016, "Deep learning with differential privacy", section 3.1, applied to the update as in McMahan et
/// al. 2018, "Learning differentially private recurrent language models", algorithm 1.)
pub fn clip_norm(delta: &mut [f32], grid: &ValueGrid, steps: u64) {
    let is_inside = delta.iter().all(|value| value.abs() <= grid.value_max);
    if is_inside && squares(delta, grid).is_within(steps) {
        return;
    }
    let unit = f64::from(grid.fraction_bits).exp2();
    let norm = delta.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !norm.is_finite() {
        return;
    }
    let factor = steps as f64 / unit / norm * MARGIN;
    for value in delta.iter_mut() {
        *value = towards_zero((f64::from(*value) * factor * unit).trunc() / unit);
    }
    debug_assert!(squares(delta, grid).is_within(steps), "what was rounded towards zero is shorter");
}

/// Returns the squared norm of an update. Values outside the grid are clamped to it. NaN is skipped.
pub(crate) fn squares(delta: &[f32], grid: &ValueGrid) -> SquaredNorm {
    let mut squares = SquaredNorm::default();
    for value in delta.iter().filter(|value| !value.is_nan()) {
        squares.add(&value.clamp(-grid.value_max, grid.value_max).to_le_bytes(), grid);
    }
    squares
}

/// Rounds to float32 without increasing the magnitude.
fn towards_zero(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest).abs() > value.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_clipped_keeps_to_the_norm(
            mut delta in prop::collection::vec(any::<f32>().prop_filter("finite", |v| v.is_finite()), 1..200),
            norm in 1e-6f64..1e3, fraction_bits in 4u32..=28,
        ) {
            let grid = ValueGrid { fraction_bits, ..ValueGrid::default() };
            let steps = grid.norm_steps(norm);
            clip_norm(&mut delta, &grid, steps);
            let within = delta.iter().all(|value| value.abs() <= grid.value_max);
            // A norm above the grid's range leaves values outside it, which the check of values refuses.
            prop_assert!(squares(&delta, &grid).is_within(steps) || !within);
        }

        #[test]
        fn the_direction_is_kept(delta in prop::collection::vec(-8.0f32..8.0, 2..100)) {
            let grid = ValueGrid::default();
            let before: f64 = delta.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            prop_assume!(before > 0.1);
            let mut clipped = delta.clone();
            clip_norm(&mut clipped, &grid, grid.norm_steps(0.05));
            for (value, clipped) in delta.iter().zip(&clipped) {
                prop_assert!((f64::from(*value) * 0.05 / before - f64::from(*clipped)).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn a_short_update_stays() {
        let grid = ValueGrid::default();
        let mut delta = vec![0.3f32, -0.4];
        clip_norm(&mut delta, &grid, grid.norm_steps(0.5000001));
        assert_eq!(delta, [0.3, -0.4]);
        clip_norm(&mut delta, &grid, 0);
        assert_eq!(delta, [0.0, -0.0]);
    }

    #[test]
    fn huge_and_strange_values_do_no_harm() {
        let grid = ValueGrid::default();
        let mut delta = vec![f32::MAX, -f32::MAX, 1e-40, -0.0];
        clip_norm(&mut delta, &grid, grid.norm_steps(1.0));
        assert!(squares(&delta, &grid).is_within(grid.norm_steps(1.0)) && delta[0] > 0.7, "{delta:?}");
        let mut bad = vec![f32::NAN, 100.0];
        clip_norm(&mut bad, &grid, 5);
        assert!(bad[0].is_nan());
    }
}
