//! Amplification bounds that depend only on the mechanism's epsilon and delta.

use crate::budget::{Delta, Epsilon, SamplingRate};

/// Returns (ln(1 + q(e^ε − 1)), qδ): subsampling amplification of an (ε, δ)-private mechanism on a Poisson sample.
///
/// Balle, Barthe and Gaboardi 2018, "Privacy amplification by subsampling", theorem 8 (add or remove one). The returned
/// delta is 0 if the product is below the smallest float64.
pub fn amplified_by_sampling(epsilon: Epsilon, delta: f64, rate: SamplingRate) -> (Epsilon, f64) {
    let q = rate.get();
    let amplified =
        if epsilon.get() > 600.0 { epsilon.get() + q.ln() } else { (q * epsilon.get().exp_m1()).ln_1p() };
    (Epsilon::new(amplified.max(0.0)).expect("not above a finite epsilon"), q * delta)
}

/// Returns the central epsilon of `clients` reports that a shuffler has mixed, each `local`-locally private.
///
/// Feldman, McMillan and Talwar 2023, "Stronger privacy amplification by shuffling for Rényi and approximate
/// differential privacy", theorem 3.2, closed form. `None` if its condition ε₀ ≤ ln(n / (8 ln(2/δ)) − 1) does not hold:
/// then nothing is claimed beyond the local epsilon.
pub fn amplified_by_shuffling(local: Epsilon, clients: u64, delta: Delta) -> Option<Epsilon> {
    let (epsilon, n) = (local.get(), clients as f64);
    let room = n / (8.0 * (2.0 / delta.get()).ln()) - 1.0;
    if room <= 0.0 || epsilon > room.ln() {
        return None;
    }
    let more = epsilon.exp() + 1.0;
    let share = 4.0 * (2.0 * (4.0 / delta.get()).ln()).sqrt() / (more * n).sqrt() + 4.0 / n;
    Epsilon::new((epsilon.exp_m1() * share).ln_1p().min(epsilon)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_in_the_sample_is_no_amplification() {
        let [one, huge] = [1.0, 1e6].map(|epsilon| Epsilon::new(epsilon).unwrap());
        let all = SamplingRate::new(1.0).unwrap();
        assert!((amplified_by_sampling(one, 1e-6, all).0.get() - 1.0).abs() < 1e-15);
        assert_eq!(amplified_by_sampling(huge, 1e-6, all), (huge, 1e-6));
    }

    #[test]
    fn a_few_reports_are_not_a_shuffle() {
        let delta = Delta::new(1e-6).unwrap();
        assert_eq!(amplified_by_shuffling(Epsilon::new(1.0).unwrap(), 10, delta), None);
        assert_eq!(amplified_by_shuffling(Epsilon::new(9.0).unwrap(), 10_000, delta), None);
    }
}
