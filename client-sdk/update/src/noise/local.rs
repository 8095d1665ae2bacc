use folkmoot_protocol::ValueGrid;
use rand::CryptoRng;

use super::{DiscreteGaussian, ScaleError};
use crate::grid::{scale, to_grid};

/// The maximum scale of the noise, in steps of the grid. The sum of 64 times this scale and a value on the grid fits
/// into an i64.
const SCALE_STEPS_MAX: u64 = 1 << 52;

/// The upper bound of magnitudes on a grid, in steps. Below it, float64 is exact and [`to_grid`] may be used.
const STEPS_END: f64 = (1u64 << 51) as f64;

/// Why no noise was added. The update is unchanged and must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoiseError {
    /// The scale is 0 or too large.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// A value is not finite, or its magnitude exceeds the grid's limit.
    #[error(
        "element {index} is {value}, outside the grid of ±{value_max}; clip the update before adding noise"
    )]
    OutsideGrid {
        /// The element's index.
        index: usize,
        /// The value.
        value: f32,
        /// The grid's maximum magnitude.
        value_max: f32,
    },
    /// The grid has no step from 0 to its maximum magnitude, or more than 2^51 steps.
    #[error(
        "the grid to ±{value_max} with {fraction_bits} fraction bits does not have 1 to 2^51 steps, which noise needs; \
         change `fraction_bits` or `value_max`"
    )]
    Grid {
        /// The grid's fraction bits.
        fraction_bits: u32,
        /// The grid's maximum magnitude.
        value_max: f32,
    },
}

/// Adds discrete Gaussian noise to an update on the device. This is the local mechanism (Kasiviswanathan et al. 2011,
/// "What can we learn privately?"), which hides an update from its recipient.
///
/// `delta` must have been clipped to a norm of Δ steps by [`clip_norm`](crate::clip_norm). `scale_steps` is the scale
/// of the noise in steps of the grid (2^-fraction_bits), from 1 to 2^52: z·Δ, rounded up, for the noise multiplier z.
/// Compared with an update of zeros, the result is Δ²/(2·scale_steps²)-zCDP. Two updates of one client can be 2Δ apart,
/// which costs four times as much.
///
/// 1. Every value becomes an integer number of steps, with the same rounding as in [`SquaredNorm`](crate::SquaredNorm).
/// 2. A scale above 2^28 is too large for the sampler. The unit is then 2^shift steps, with the smallest shift for
///    which the scale, rounded up, is at most 2^28. The shift depends only on the scale, not on the update. The
///    integers sᵢ become tᵢ = sᵢ / 2^shift, rounded **towards zero**. Then |tᵢ| ≤ |sᵢ| / 2^shift for every i, and
///    therefore √Σtᵢ² ≤ √Σsᵢ² / 2^shift. In the new unit, the norm is at most Δ / 2^shift, and noise with the scale
///    ⌈scale_steps / 2^shift⌉ is always sufficient.
/// 3. An independent sample is added to every integer. The update is now private, and further processing cannot change
///    that. It is clamped to the grid's range and rounded to float32. Clamping pulls the mean of values near the end of
///    the grid towards 0; a `value_max` of several scales avoids that.
///
/// The generator must be ChaCha20 with a seed from the operating system; see the [module](crate::noise).
///
/// # Errors
/// [`NoiseError`] if the scale is out of range, the grid has no or too many steps, or a value is not finite or outside
/// the grid. The update is then unchanged.
pub fn add_noise(
    delta: &mut [f32],
    grid: &ValueGrid,
    scale_steps: u64,
    rng: &mut impl CryptoRng,
) -> Result<(), NoiseError> {
    let (shift, noise) = coarsened(scale_steps)?;
    let unit = scale(grid, 1.0);
    let steps_max = (f64::from(grid.value_max) * unit).floor();
    if !(1.0..STEPS_END).contains(&steps_max) {
        return Err(NoiseError::Grid { fraction_bits: grid.fraction_bits, value_max: grid.value_max });
    }
    let is_inside = |value: &f32| value.abs() <= grid.value_max;
    if let Some(index) = delta.iter().position(|value| !is_inside(value)) {
        return Err(NoiseError::OutsideGrid { index, value: delta[index], value_max: grid.value_max });
    }
    let steps_max = steps_max as i64;
    for value in delta {
        let coarse = towards_zero(to_grid(*value, unit), shift).saturating_add(noise.sample(rng));
        let steps = coarse.saturating_mul(1 << shift).clamp(-steps_max, steps_max);
        *value = (steps as f64 / unit) as f32;
    }
    Ok(())
}

/// Returns the shift to the unit of the noise, and the noise in that unit.
pub(super) fn coarsened(scale_steps: u64) -> Result<(u32, DiscreteGaussian), ScaleError> {
    if !(1..=SCALE_STEPS_MAX).contains(&scale_steps) {
        return Err(ScaleError { scale: scale_steps, scale_max: SCALE_STEPS_MAX });
    }
    let shift = scale_steps.div_ceil(DiscreteGaussian::SCALE_MAX).next_power_of_two().trailing_zeros();
    Ok((shift, DiscreteGaussian::new(scale_steps.div_ceil(1 << shift))?))
}

/// Converts to units of 2^shift steps, rounding towards zero.
pub(super) fn towards_zero(steps: i64, shift: u32) -> i64 {
    steps / (1 << shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

    use super::*;
    use crate::{SquaredNorm, clip_norm};

    const GRID: ValueGrid = ValueGrid { fraction_bits: 20, value_max: 16.0, weight_max: 1 };

    fn rng(seed: u64) -> ChaCha20Rng {
        ChaCha20Rng::seed_from_u64(seed)
    }

    fn steps_of(delta: &[f32], grid: &ValueGrid) -> Vec<i64> {
        delta.iter().map(|value| to_grid(*value, scale(grid, 1.0))).collect()
    }

    fn squares(steps: impl Iterator<Item = i64>) -> u128 {
        steps.map(|steps| u128::from(steps.unsigned_abs()).pow(2)).sum()
    }

    proptest! {
        #[test]
        fn coarsening_never_adds_to_the_norm(
            steps in prop::collection::vec(-(1i64 << 50)..1 << 50, 0..100), shift in 0u32..=24,
        ) {
            let coarse = squares(steps.iter().map(|steps| towards_zero(*steps, shift)));
            prop_assert!(coarse << (2 * shift) <= squares(steps.iter().copied()));
        }

        #[test]
        fn the_unit_fits_the_sampler_and_the_noise_is_never_less(scale_steps in 1u64..=SCALE_STEPS_MAX) {
            let (shift, noise) = coarsened(scale_steps).unwrap();
            let scale = noise.scale() << shift;
            prop_assert!(scale >= scale_steps && scale - scale_steps < 1 << shift);
            let is_needed = shift == 0 || scale_steps > DiscreteGaussian::SCALE_MAX << (shift - 1);
            prop_assert!(is_needed, "a finer unit would do");
        }

        #[test]
        fn a_clipped_update_keeps_to_its_norm_in_the_coarse_unit(
            mut delta in prop::collection::vec(-16.0f32..16.0, 1..100), norm in 1e-3f64..10.0, shift in 0u32..=24,
        ) {
            let bound = GRID.norm_steps(norm);
            clip_norm(&mut delta, &GRID, bound);
            let coarse = squares(steps_of(&delta, &GRID).into_iter().map(|steps| towards_zero(steps, shift)));
            prop_assert!(coarse << (2 * shift) <= u128::from(bound).pow(2));
        }

        #[test]
        fn nothing_panics_and_what_comes_out_is_on_the_grid(
            mut delta in prop::collection::vec(any::<f32>(), 0..20), scale_steps: u64,
            fraction_bits: u32, value_max: f32, small_bits in 0u32..40, is_small: bool,
        ) {
            let fraction_bits = if is_small { small_bits } else { fraction_bits };
            let grid = ValueGrid { fraction_bits, value_max, weight_max: 1 };
            let before = delta.clone();
            match add_noise(&mut delta, &grid, scale_steps >> 12, &mut rng(1)) {
                Ok(()) => prop_assert!(delta.iter().all(|value| value.abs() <= value_max)),
                Err(_) => prop_assert!(delta.iter().zip(&before).all(|(a, b)| a.to_bits() == b.to_bits())),
            }
        }
    }

    #[test]
    fn the_noise_is_that_of_its_scale_around_the_value() {
        // In the second case the unit is 2^3 steps.
        for (fraction_bits, scale_steps) in [(20, 1 << 18), (35, (1 << 31) - 5)] {
            let grid = ValueGrid { fraction_bits, ..GRID };
            let mut delta = vec![0.5f32; 200_000];
            add_noise(&mut delta, &grid, scale_steps, &mut rng(5)).unwrap();
            let deviation = scale_steps as f64 / f64::from(fraction_bits).exp2();
            let count = delta.len() as f64;
            let mean = delta.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
            let variance = delta.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
            assert!((mean - 0.5).abs() < 6.0 * deviation / count.sqrt(), "{mean}");
            let error = deviation * deviation * (2.0 / count).sqrt();
            assert!((variance - deviation * deviation).abs() < 6.0 * error, "{variance}");
        }
    }

    #[test]
    fn every_coordinate_and_every_call_gets_noise_of_its_own() {
        // On a grid of 2^24 steps float32 keeps every integer, so an equal pair would be equal noise.
        let mut rng = rng(6);
        let grid = ValueGrid { fraction_bits: 24, value_max: 1.0, weight_max: 1 };
        let [first, second] = [0; 2].map(|_| {
            let mut delta = vec![0.0f32; 100];
            add_noise(&mut delta, &grid, 1 << 20, &mut rng).unwrap();
            delta
        });
        let mut all: Vec<i64> = steps_of(&[first, second].concat(), &grid);
        all.sort_unstable();
        all.dedup();
        // The probability that two of 200 draws are equal is 200²/2 / (2√π·2^20), about one in 200.
        assert!(all.len() >= 199, "{}", all.len());
    }

    #[test]
    fn what_passes_the_end_of_the_grid_is_clamped() {
        let grid = ValueGrid { fraction_bits: 20, value_max: 0.1, weight_max: 1 };
        let mut delta = [0.1f32, -0.1, 0.0].repeat(1000);
        add_noise(&mut delta, &grid, SCALE_STEPS_MAX, &mut rng(7)).unwrap();
        let end = (0.1f32 * 1048576.0).floor() / 1048576.0;
        assert!(delta.iter().all(|value| value.abs() == end), "noise of 2^32 passes ±0.1 almost surely");
        let positive = delta.iter().filter(|value| **value > 0.0).count();
        assert!((1300..1700).contains(&positive), "{positive}");
    }

    #[test]
    fn without_much_noise_the_value_stays() {
        let mut delta = vec![0.25f32, -1.5];
        add_noise(&mut delta, &ValueGrid::default(), 1, &mut rng(8)).unwrap();
        assert!((delta[0] - 0.25).abs() < 1e-7 && (delta[1] + 1.5).abs() < 2e-7, "{delta:?}");
        let mut squares = SquaredNorm::default();
        squares.add(&delta[0].to_le_bytes(), &ValueGrid::default());
        assert!(squares.steps() > 1e6);
    }

    #[test]
    fn what_cannot_be_protected_is_refused_and_left_alone() {
        let mut delta = vec![1.0f32, f32::NAN];
        let refused = add_noise(&mut delta, &GRID, 100, &mut rng(9)).unwrap_err();
        assert!(refused.to_string().contains("element 1 is NaN") && delta[0] == 1.0, "{refused}");
        let mut delta = vec![1.0f32, -16.5];
        for (scale_steps, word) in
            [(0, "scale of the noise is 0"), (SCALE_STEPS_MAX + 1, "to 4503599627370496")]
        {
            let refused = add_noise(&mut delta, &GRID, scale_steps, &mut rng(9)).unwrap_err();
            assert!(refused.to_string().contains(word), "{refused}");
        }
        let refused = add_noise(&mut delta, &GRID, 100, &mut rng(9)).unwrap_err();
        assert!(refused.to_string().contains("element 1 is -16.5"), "{refused}");
        for (fraction_bits, value_max) in [(47, 16.0), (0, 0.5), (20, f32::NAN), (20, -1.0), (u32::MAX, 1.0)]
        {
            let grid = ValueGrid { fraction_bits, value_max, weight_max: 1 };
            let refused = add_noise(&mut delta, &grid, 100, &mut rng(9)).unwrap_err();
            assert!(matches!(refused, NoiseError::Grid { .. }), "{refused}");
        }
        assert_eq!(delta, [1.0, -16.5]);
    }
}
