use folkmoot_protocol::ValueGrid;
use folkmoot_secure_aggregation::NoiseShare;
use rand::CryptoRng;

use super::{
    ScaleError,
    local::{coarsened, towards_zero},
};
use crate::{SquaredNorm, grid::scale};

/// The number of roundings that are tried. Each is within the bound with a probability of at least 0.39.
const ROUNDINGS_MAX: usize = 100;

/// Clips an update, rounds it to integers at random, and adds this client's share of the noise. The integers are to be masked:
/// a share alone is too small to protect an update, and only the sum of all shares is private.
///
/// 1. The update is scaled to a norm of at most `share.clipping_norm`.
/// 2. Every value is rounded up or down at random, so that its mean is kept even on a coarse grid. The rounding is drawn again
///    until the norm of the integers is at most `share.norm_max` (Kairouz, Liu and Steinke 2021, algorithm 1).
/// 3. An independent sample of the discrete Gaussian with the scale `share.scale` is added to each integer. A scale above 2^28
///    is too large for the sampler; as for [`add_noise`](super::add_noise), the unit is then a power of two of steps.
///
/// `delta` must be finite. The generator must be ChaCha20 with a seed from the operating system; see the
/// [module](crate::noise).
///
/// # Errors
/// [`ScaleError`] if the scale is out of range.
pub fn noised_steps(
    delta: &[f32],
    grid: &ValueGrid,
    share: &NoiseShare,
    rng: &mut impl CryptoRng,
) -> Result<Vec<i64>, ScaleError> {
    let (shift, noise) = coarsened(share.scale)?;
    let mut steps = rounded(delta, grid, share, rng);
    for step in &mut steps {
        let coarse = towards_zero(*step, shift).saturating_add(noise.sample(rng));
        *step = coarse.saturating_mul(1 << shift);
    }
    Ok(steps)
}

/// Returns integers whose norm is at most `share.norm_max`.
fn rounded(delta: &[f32], grid: &ValueGrid, share: &NoiseShare, rng: &mut impl CryptoRng) -> Vec<i64> {
    let unit = scale(grid, 1.0);
    let norm = delta.iter().map(|value| (f64::from(*value) * unit).powi(2)).sum::<f64>().sqrt();
    let clipping = share.clipping_norm as f64;
    let factor = if norm > clipping { clipping / norm * unit } else { unit };
    let is_within = |steps: &[i64]| SquaredNorm::of_steps(steps.iter().copied()).is_within(share.norm_max);
    for _ in 0..ROUNDINGS_MAX {
        let steps: Vec<i64> =
            delta.iter().map(|value| round_at_random(f64::from(*value) * factor, rng)).collect();
        if is_within(&steps) {
            return steps;
        }
    }
    let steps: Vec<i64> = delta.iter().map(|value| (f64::from(*value) * factor) as i64).collect();
    // Rounding towards zero never increases the norm; only float64 could, by less than a step.
    if is_within(&steps) { steps } else { vec![0; steps.len()] }
}

/// Rounds up with the probability of the fraction, and down otherwise.
fn round_at_random(value: f64, rng: &mut impl CryptoRng) -> i64 {
    let below = value.floor();
    let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    below as i64 + i64::from(uniform < value - below)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

    use super::*;

    const GRID: ValueGrid = ValueGrid { fraction_bits: 8, value_max: 16.0, weight_max: 1 };

    fn share(clipping_norm: u64, norm_max: u64, scale: u64) -> NoiseShare {
        NoiseShare { clipping_norm, norm_max, scale, shares: 10 }
    }

    #[test]
    fn values_far_below_a_step_survive_on_average() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        // A hundredth of a step: deterministic rounding would give 0 everywhere.
        let delta = vec![0.01 / 256.0; 100_000];
        let steps = rounded(&delta, &GRID, &share(1000, 2000, 1), &mut rng);
        let sum = steps.iter().sum::<i64>();
        assert!((900..1100).contains(&sum), "{sum}: the expectation is 1000, the deviation 31");
        assert!(steps.iter().all(|step| (0..=1).contains(step)));
    }

    #[test]
    fn the_sum_of_the_shares_has_the_deviation_of_the_terms() {
        for (scale, shift) in [(50u64, 0), (3 << 28, 2)] {
            let mut rng = ChaCha20Rng::seed_from_u64(scale);
            let (clients, values) = (20, 20_000);
            let mut sums = vec![0i64; values];
            for _ in 0..clients {
                let noised = noised_steps(&vec![0.0; values], &GRID, &share(1, 1, scale), &mut rng).unwrap();
                assert!(noised.iter().all(|value| value % (1 << shift) == 0));
                sums.iter_mut().zip(noised).for_each(|(sum, value)| *sum += value);
            }
            let variance = sums.iter().map(|sum| (*sum as f64).powi(2)).sum::<f64>() / values as f64;
            let expected = f64::from(clients) * (scale as f64).powi(2);
            // The relative deviation of such an estimate is the root of 2/20,000, that is 1 %.
            assert!((variance / expected - 1.0).abs() < 0.04, "{variance} {expected}");
        }
    }

    proptest! {
        #[test]
        fn the_norm_of_the_integers_keeps_to_the_bound(
            delta in prop::collection::vec(-16.0f32..16.0, 1..200), clipping in 1u64..5000, seed: u64,
        ) {
            let bound = folkmoot_secure_aggregation::rounded_norm_bound(clipping as f64, delta.len() as u64);
            let share = share(clipping, bound.ceil() as u64, 1);
            let steps = rounded(&delta, &GRID, &share, &mut ChaCha20Rng::seed_from_u64(seed));
            prop_assert!(SquaredNorm::of_steps(steps.iter().copied()).is_within(share.norm_max));
            let is_some = delta.iter().any(|value| value.abs() > 1.0) && clipping > 100;
            prop_assert!(!is_some || steps.iter().any(|step| *step != 0));
        }

        #[test]
        fn a_bound_that_no_rounding_keeps_gives_nothing_longer(seed: u64, norm_max in 0u64..3) {
            let delta = [0.5f32; 64];
            let steps = rounded(&delta, &GRID, &share(1024, norm_max, 1), &mut ChaCha20Rng::seed_from_u64(seed));
            prop_assert!(SquaredNorm::of_steps(steps.iter().copied()).is_within(norm_max));
        }
    }
}
