//! Poisson sampling with a cap on the cohort: if more clients are drawn, `cap` of them are kept, chosen uniformly.
//!
//! Ganesh 2025, "Tighter privacy analysis for truncated Poisson sampling". The event that at least `cap` of the other
//! clients are drawn does not depend on the client itself. If fewer are drawn, this is Poisson sampling. Otherwise the
//! client is in the cohort with the probability P[Bin(n, q) > cap]·cap / (n·P[Bin(n − 1, q) ≥ cap]), and then replaces
//! another client. The replacement moves the sum by two clipping norms. Under zero-out and add-or-remove, only one
//! direction of a replacement can occur, so the bound is a few percent above the true epsilon.

use super::{MixturePair, SamplingRate, composed_epsilon, largest, pairs};
use crate::accountant::binomial;
use crate::budget::{Delta, Epsilon, RangeError};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// The largest population. Up to it, binomial tails keep five correct digits.
const POPULATION_MAX: u64 = 1_000_000_000;

/// The factor by which binomial tails are enlarged, to cover the digits that they lack.
const SLACK: f64 = 1.0 + 1e-5;

/// A population that is fixed beforehand, and the maximum size of a cohort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CohortCap {
    population: u64,
    cap: u64,
}

impl CohortCap {
    /// Creates a cap of `cap` clients on cohorts from a population of `population` clients.
    ///
    /// # Errors
    /// [`RangeError`] if the population is empty or above a billion, or the cap is 0.
    pub fn new(population: u64, cap: u64) -> Result<Self, RangeError> {
        let is_right = (1..=POPULATION_MAX).contains(&population);
        RangeError::unless(is_right, "population", population as f64, "at least 1 and at most a billion")?;
        RangeError::unless(cap > 0, "cap on the cohort", cap as f64, "at least 1")?;
        Ok(Self { population, cap })
    }

    /// Returns two probabilities: that at least `cap` others are drawn, and that the client is in the cohort given that
    /// at least `cap` others are drawn.
    fn probabilities(self, rate: f64) -> (f64, f64) {
        let full = (binomial::at_least(self.cap, self.population - 1, rate) * SLACK).min(1.0);
        let over = binomial::at_least(self.cap.saturating_add(1), self.population, rate) * SLACK;
        if full <= 0.0 {
            return (0.0, 0.0);
        }
        (full, (over * self.cap as f64 / (full * self.population as f64) * SLACK).min(1.0))
    }
}

/// Computes epsilon after `steps` rounds of Poisson sampling with a cap, from the privacy loss distribution.
///
/// Returns `None` in the same cases as [`poisson_gaussian_epsilon`](super::poisson_gaussian_epsilon).
pub fn capped_poisson_gaussian_epsilon(
    rate: SamplingRate,
    cap: CohortCap,
    multiplier: NoiseMultiplier,
    steps: u64,
    delta: Delta,
) -> Option<Epsilon> {
    if steps == 0 {
        return Epsilon::new(0.0).ok();
    }
    let z = multiplier.standard_deviation_per_clipping_norm();
    let (full, is_in) = cap.probabilities(rate.get());
    let replaced = pairs(Relation::ReplaceOne, is_in.max(f64::MIN_POSITIVE), 0.5 * z);
    let epsilons = pairs(multiplier.relation(), rate.get(), z).into_iter().map(|pair| {
        let both = [(1.0 - full, pair)].into_iter().chain(replaced.iter().map(|pair| (full, *pair)));
        let met: Vec<(f64, MixturePair)> = both.filter(|(weight, _)| *weight > 0.0).collect();
        composed_epsilon(&met, steps, delta.get())
    });
    largest(epsilons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::poisson_gaussian_epsilon;

    fn epsilon(rate: f64, cap: CohortCap) -> f64 {
        let [rate, multiplier] = [rate, 1.5];
        let multiplier = NoiseMultiplier::new(multiplier, Relation::AddOrRemove).unwrap();
        let (rate, delta) = (SamplingRate::new(rate).unwrap(), Delta::new(1e-5).unwrap());
        let capped = capped_poisson_gaussian_epsilon(rate, cap, multiplier, 100, delta).unwrap().get();
        let plain = poisson_gaussian_epsilon(rate, multiplier, 100, delta).unwrap().get();
        capped / plain
    }

    #[test]
    fn a_cap_that_is_never_reached_costs_nothing_and_a_low_one_much() {
        let cap = |cap| CohortCap::new(1000, cap).unwrap();
        assert!((epsilon(0.02, cap(1000)) - 1.0).abs() < 1e-9);
        assert!((epsilon(0.02, cap(100)) - 1.0).abs() < 1e-3);
        let costs: Vec<f64> = [40, 30, 25, 20].map(|size| epsilon(0.02, cap(size))).into();
        assert!(costs.windows(2).all(|two| two[0] < two[1]) && costs[0] > 1.0, "{costs:?}");
        // At the sampling rate 1, the cap makes this a cohort of fixed size.
        assert!(epsilon(1.0, cap(100)) < 1.0);
    }

    #[test]
    fn the_chance_to_be_in_is_the_share_of_the_places() {
        let cap = CohortCap::new(50, 10).unwrap();
        let (full, is_in) = cap.probabilities(0.2);
        // The exact value: a sum over the number of the 49 other clients that are drawn.
        let exact: f64 =
            (10..50).map(|drawn| binomial::exactly(drawn, 49, 0.2) * 0.2 * 10.0 / (drawn + 1) as f64).sum();
        assert!((full * is_in / exact - 1.0).abs() < 1e-4, "{full} {is_in} {exact}");
        assert_eq!(cap.probabilities(1.0).0, 1.0);
        assert_eq!(CohortCap::new(5, 10).unwrap().probabilities(0.5), (0.0, 0.0));
        assert!(CohortCap::new(0, 1).is_err() && CohortCap::new(5, 0).is_err());
    }
}
