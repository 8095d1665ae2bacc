//! The Gaussian mechanism without sampling, accounted exactly by its privacy profile.

use super::special::{mills_ratio, normal_above, normal_density};
use crate::budget::{Delta, Epsilon};
use crate::noise_multiplier::NoiseMultiplier;

/// The number of bisections after which a float64 interval has no interior.
const HALVINGS: u32 = 200;

/// Computes δ(ε) of the Gaussian mechanism whose sensitivity over standard deviation is `mu`.
///
/// Balle and Wang 2018, "Improving the Gaussian mechanism for differential privacy", theorem 8:
/// δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ). Both terms share a density as a factor, so the difference is taken between
/// Mills' ratios, and the tails keep their digits.
pub(super) fn profile(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 {
        return 0.0;
    }
    let (low, high) = (epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu);
    let density = normal_density(low);
    if low >= 0.0 {
        density * (mills_ratio(low) - mills_ratio(high)).max(0.0)
    } else {
        (normal_above(low) - density * mills_ratio(high)).max(0.0)
    }
}

/// Computes the exact epsilon of `releases` Gaussian releases at this delta. k releases with the multiplier z equal one
/// release with the multiplier z/√k.
///
/// The result holds for real-valued noise. The epsilon of the discrete Gaussian on a fine grid differs by less than
/// 1e-9, but only a zCDP bound is proven for it.
pub fn gaussian_epsilon(multiplier: NoiseMultiplier, releases: u64, delta: Delta) -> Epsilon {
    gaussian_epsilon_of_mu((releases as f64).sqrt() / multiplier.get(), delta)
}

/// Computes the exact epsilon of one Gaussian release whose sensitivity over standard deviation is `mu`.
///
/// `mu` must be finite, at least 0 and at most 1e150.
pub(crate) fn gaussian_epsilon_of_mu(mu: f64, delta: Delta) -> Epsilon {
    let is_enough = |epsilon: f64| profile(mu, epsilon) <= delta.get();
    if is_enough(0.0) {
        return Epsilon::new(0.0).expect("0 is an epsilon");
    }
    let (mut low, mut high) = (0.0, 0.5 * mu * mu + mu * (-2.0 * delta.get().ln()).sqrt());
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if is_enough(middle) { high = middle } else { low = middle }
    }
    Epsilon::new(high).expect("the square of mu is finite")
}

/// Finds the smallest standard deviation over sensitivity for which one release is (epsilon, delta)-private.
///
/// Balle and Wang 2018, algorithm 1, by bisection of the logarithm, rounded up.
pub fn analytic_gaussian_multiplier(epsilon: Epsilon, delta: Delta) -> f64 {
    let (mut low, mut high) = (1e-12f64.ln(), 1e12f64.ln());
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if profile((-middle).exp(), epsilon.get()) <= delta.get() { high = middle } else { low = middle }
    }
    high.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise_multiplier::Relation;

    #[test]
    fn the_profile_at_zero_is_the_total_variation() {
        // Φ(μ/2) − Φ(−μ/2) for μ = 2 and μ = 1e-6.
        assert!((profile(2.0, 0.0) - 0.682_689_492_137_086).abs() < 1e-14);
        assert!((profile(1e-6, 0.0) / 3.989_422_804_014_327e-7 - 1.0).abs() < 1e-9);
        assert_eq!(profile(0.0, 0.0), 0.0);
    }

    #[test]
    fn extremes_have_answers() {
        for z in [0.05, 1.0, 1e4] {
            for releases in [0, 1, 1_000_000] {
                let multiplier = NoiseMultiplier::new(z, Relation::ZeroOut).unwrap();
                let delta = Delta::new(1e-12).unwrap();
                let epsilon = gaussian_epsilon(multiplier, releases, delta).get();
                assert!(profile((releases as f64).sqrt() / z, epsilon) <= 1e-12);
            }
        }
    }
}
