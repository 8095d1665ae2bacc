//! Zero-concentrated differential privacy (zCDP), the accountant of the default claim.

use crate::budget::{Delta, Epsilon, Rho};
use crate::noise_multiplier::NoiseMultiplier;

/// The number of bisections after which a float64 interval has no interior.
const HALVINGS: u32 = 200;

/// Returns ρ = k/(2z²) of k releases of the Gaussian mechanism.
///
/// Bun and Steinke 2016, proposition 1.6 and lemma 1.7; for the discrete Gaussian on integers Canonne, Kamath and
/// Steinke 2020, theorem 4. The same ρ bounds any k participations of a client, no matter who chooses them.
pub fn rho_of_gaussian(multiplier: NoiseMultiplier, releases: u64) -> Rho {
    let z = multiplier.get();
    Rho::new(releases as f64 / (2.0 * z * z)).expect("a multiplier is at least 0.001")
}

/// Computes the smallest epsilon that ρ-zCDP implies at this delta.
///
/// Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy", corollary 13:
/// δ = inf over α > 1 of exp((α − 1)(αρ − ε)) / (α − 1) · (1 − 1/α)^α, bisected for ε and rounded up.
pub fn zcdp_epsilon(rho: Rho, delta: Delta) -> Epsilon {
    let ln_delta = delta.get().ln();
    if rho.get() == 0.0 || ln_zcdp_delta(rho.get(), 0.0) <= ln_delta {
        return Epsilon::new(0.0).expect("0 is an epsilon");
    }
    let (mut low, mut high) = (0.0, rho.get() + 2.0 * (rho.get() * -ln_delta).sqrt());
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if ln_zcdp_delta(rho.get(), middle) <= ln_delta { high = middle } else { low = middle }
    }
    Epsilon::new(high).expect("between 0 and the simple conversion")
}

/// Computes the smallest delta that ρ-zCDP implies at this epsilon, by the same corollary. At most 1, and 0 for ρ = 0.
pub fn zcdp_delta(rho: Rho, epsilon: Epsilon) -> f64 {
    if rho.get() == 0.0 { 0.0 } else { ln_zcdp_delta(rho.get(), epsilon.get()).exp().min(1.0) }
}

/// Computes the largest ρ whose epsilon at this delta is at most `epsilon`.
pub fn rho_for_epsilon(epsilon: Epsilon, delta: Delta) -> Rho {
    let (mut low, mut high) = (0.0, epsilon.get() + 1e-300);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        let spent = zcdp_epsilon(Rho::new(middle).expect("below a finite epsilon"), delta);
        if spent <= epsilon { low = middle } else { high = middle }
    }
    Rho::new(low).expect("between 0 and a finite epsilon")
}

/// Computes ln δ at the best order, which is where the derivative of the exponent changes its sign. The derivative
/// increases with the order, so it is bisected.
fn ln_zcdp_delta(rho: f64, epsilon: f64) -> f64 {
    let (mut low, mut high) = (1.0, (epsilon + 1.0) / (2.0 * rho) + 2.0);
    for _ in 0..HALVINGS {
        let order = 0.5 * (low + high);
        if order <= low || order >= high {
            break;
        }
        let slope = (2.0 * order - 1.0) * rho - epsilon + (-1.0 / order).ln_1p();
        if slope < 0.0 { low = order } else { high = order }
    }
    // Any order above 1 gives a sound bound, and the upper end is always above 1.
    let order = high;
    (order - 1.0) * (order * rho - epsilon) + (-1.0 / order).ln_1p() * order - (order - 1.0).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise_multiplier::Relation;

    #[test]
    fn ten_participations_at_multiplier_five() {
        let multiplier = NoiseMultiplier::new(5.0, Relation::ZeroOut).unwrap();
        assert_eq!(rho_of_gaussian(multiplier, 10).get(), 0.2);
    }

    #[test]
    fn the_conversions_undo_each_other() {
        for delta in [1e-12, 1e-5, 0.1].map(|delta| Delta::new(delta).unwrap()) {
            for rho in [1e-9, 0.2, 3.0, 1e4].map(|rho| Rho::new(rho).unwrap()) {
                let epsilon = zcdp_epsilon(rho, delta);
                assert!(zcdp_delta(rho, epsilon) <= delta.get() * (1.0 + 1e-9));
                if epsilon.get() > 0.0 {
                    assert!((zcdp_delta(rho, epsilon) / delta.get()).ln().abs() < 1e-6);
                    let back = rho_for_epsilon(epsilon, delta);
                    assert!((back.get() / rho.get() - 1.0).abs() < 1e-6, "{rho} {delta}");
                }
            }
        }
    }

    #[test]
    fn the_extremes_have_answers() {
        let [zero, huge] = [0.0, 1e300].map(|rho| Rho::new(rho).unwrap());
        let delta = Delta::new(1e-12).unwrap();
        assert_eq!(zcdp_epsilon(zero, delta).get(), 0.0);
        assert!(zcdp_epsilon(huge, delta).get() >= 1e300);
        assert_eq!(zcdp_delta(zero, Epsilon::new(0.0).unwrap()), 0.0);
    }
}
