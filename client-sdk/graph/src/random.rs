//! Random numbers as a function of a seed. Uses our own algorithms over ChaCha20, so that no library update changes a
//! run.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Writes the order in which an epoch visits `length` examples: a uniform permutation (Fisher and Yates).
pub fn permute(order: &mut Vec<usize>, length: usize, seed: u64, epoch: u64) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(epoch);
    order.clear();
    order.extend(0..length);
    for last in (1..length).rev() {
        let chosen = below(|| rng.next_u64(), last as u64 + 1) as usize;
        order.swap(last, chosen);
    }
}

/// Returns the seed of a step's random numbers (dropout), by the finaliser of SplitMix64: similar inputs give unrelated
/// seeds.
pub fn step_seed(seed: u64, step: u64) -> u64 {
    let mut mixed = seed.wrapping_add(step.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns a uniform integer below `bound` without bias, from uniform words. `bound` must be at least 1.
pub fn below(mut word: impl FnMut() -> u64, bound: u64) -> u64 {
    let accepted = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = word();
        if drawn < accepted {
            return drawn % bound;
        }
    }
}

/// Draws from the normal distribution with mean 0 and standard deviation 1 (Box and Muller).
pub fn standard_normal(rng: &mut ChaCha20Rng) -> f64 {
    let radius = (-2.0 * uniform(rng).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(rng)).cos()
}

/// Draws from Beta(alpha, alpha), as a quotient of two gamma variates. Nothing underflows for an alpha of 0.01 or more.
pub fn symmetric_beta(rng: &mut ChaCha20Rng, alpha: f64) -> f64 {
    let (first, second) = (log_gamma_variate(rng, alpha), log_gamma_variate(rng, alpha));
    1.0 / (1.0 + (second - first).exp())
}

/// Draws the logarithm of a variate of Gamma(alpha, 1) (Marsaglia and Tsang 2000, "A simple method for generating gamma variables",
/// sections 2 and 6).
fn log_gamma_variate(rng: &mut ChaCha20Rng, alpha: f64) -> f64 {
    let boost = if alpha < 1.0 { uniform(rng).ln() / alpha } else { 0.0 };
    let shape = if alpha < 1.0 { alpha + 1.0 } else { alpha };
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = standard_normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(rng).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return boost + (d * v).ln();
        }
    }
}

/// Draws a uniform number in (0, 1] with 53 bits.
fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_visits_all_examples_in_its_own_order() {
        let permutation = |epoch| {
            let mut order = vec![7; 3];
            permute(&mut order, 100, 5, epoch);
            order
        };
        let (first, second) = (permutation(0), permutation(1));
        assert_ne!(first, second);
        assert_eq!(first, permutation(0));
        let mut sorted = second;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn every_step_has_a_seed_of_its_own() {
        // The first output of SplitMix64 from state 0, as published.
        assert_eq!(step_seed(0, 0), 0xe220_a839_7b1d_cdaf);
        let seeds: std::collections::BTreeSet<u64> = (0..1000).map(|step| step_seed(7, step)).collect();
        assert_eq!(seeds.len(), 1000);
    }

    /// The variance of Beta(a, a) is 1 / (4·(2a + 1)).
    #[test]
    fn beta_draws_have_mean_a_half_and_their_variance() {
        for alpha in [0.01, 0.2, 1.0, 3.0] {
            let mut rng = ChaCha20Rng::seed_from_u64(2);
            let draws: Vec<f64> = (0..20_000).map(|_| symmetric_beta(&mut rng, alpha)).collect();
            assert!(draws.iter().all(|draw| (0.0..=1.0).contains(draw)));
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|draw| (draw - 0.5).powi(2)).sum::<f64>() / draws.len() as f64;
            let expected = 1.0 / (4.0 * (2.0 * alpha + 1.0));
            assert!(
                (mean - 0.5).abs() < 0.015 && (variance - expected).abs() < 0.005,
                "{alpha}: {mean}, {variance}"
            );
        }
    }

    #[test]
    fn normal_draws_have_mean_0_and_variance_1() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let draws: Vec<f64> = (0..20_000).map(|_| standard_normal(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| draw * draw).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "mean {mean}, variance {variance}");
    }
}
