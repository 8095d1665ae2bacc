//! Rényi differential privacy (RDP). The ledger uses it because it composes across different kinds of releases.

use super::{order::Orders, poisson};
use crate::budget::{Delta, Epsilon, Rho, SamplingRate};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// A curve that cannot be computed or added.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// The formula does not hold for this relation.
    #[error(
        "{mechanism} is accounted under {needed}, not under {given}; convert the noise multiplier to {needed}"
    )]
    Relation {
        /// The mechanism to account.
        mechanism: &'static str,
        /// The relations under which its formula holds.
        needed: &'static str,
        /// The relation of the noise multiplier.
        given: Relation,
    },
    /// Two curves have different relations or orders.
    #[error(
        "curves with different relations or orders cannot be added; compute both with the same relation and orders"
    )]
    Unlike,
}

/// The Rényi divergence of some releases at each order of a grid, and the relation for which it holds.
///
/// Mironov 2017, "Rényi differential privacy". Curves with the same relation and orders add up.
#[derive(Clone, Debug, PartialEq)]
pub struct RdpCurve {
    relation: Relation,
    orders: Orders,
    divergences: Vec<f64>,
}

impl RdpCurve {
    /// Returns the curve of zero releases: all divergences are 0.
    pub fn zero(relation: Relation, orders: Orders) -> Self {
        Self { relation, divergences: vec![0.0; orders.as_slice().len()], orders }
    }

    /// Creates a curve from its divergences, one for each order.
    pub(super) fn of_divergences(relation: Relation, orders: Orders, divergences: Vec<f64>) -> Self {
        debug_assert_eq!(orders.as_slice().len(), divergences.len());
        Self { relation, orders, divergences }
    }

    /// Returns the curve of ρ-zCDP: ρα at the order α. Use it also for pure and approximate mechanisms with a known ρ.
    pub fn of_rho(rho: Rho, relation: Relation, orders: Orders) -> Self {
        let divergences = orders.as_slice().iter().map(|order| rho.get() * order).collect();
        Self { relation, orders, divergences }
    }

    /// Returns the curve of one Gaussian release without sampling: α/(2z²).
    pub fn of_gaussian(multiplier: NoiseMultiplier, orders: Orders) -> Self {
        let z = multiplier.get();
        let rho = Rho::new(1.0 / (2.0 * z * z)).expect("a multiplier is at least 0.001");
        Self::of_rho(rho, multiplier.relation(), orders)
    }

    /// Returns the curve of one Gaussian release with Poisson sampling at this rate.
    ///
    /// Mironov, Talwar and Zhang 2019, section 3.3.
    ///
    /// # Errors
    /// [`CurveError::Relation`] under [`Relation::ReplaceOne`], for which the formula does not hold.
    pub fn of_poisson_gaussian(
        rate: SamplingRate,
        multiplier: NoiseMultiplier,
        orders: Orders,
    ) -> Result<Self, CurveError> {
        let relation = multiplier.relation();
        if relation == Relation::ReplaceOne {
            let (mechanism, needed) = ("Poisson sampling", "zero-out or add or remove one");
            return Err(CurveError::Relation { mechanism, needed, given: relation });
        }
        let z = multiplier.get();
        let divergences =
            orders.as_slice().iter().map(|order| poisson::divergence(*order, rate.get(), z)).collect();
        Ok(Self { relation, orders, divergences })
    }

    /// Returns the curve of `releases` releases, each with the cost of this curve.
    pub fn times(mut self, releases: u64) -> Self {
        for divergence in &mut self.divergences {
            *divergence *= releases as f64;
        }
        self
    }

    /// Returns the sum of two curves: the cost of both releases, even if the second release is chosen after seeing the
    /// first.
    ///
    /// # Errors
    /// [`CurveError::Unlike`] if the relations or the orders differ.
    pub fn plus(mut self, other: &Self) -> Result<Self, CurveError> {
        if self.relation != other.relation || self.orders != other.orders {
            return Err(CurveError::Unlike);
        }
        for (divergence, more) in self.divergences.iter_mut().zip(&other.divergences) {
            *divergence += more;
        }
        Ok(self)
    }

    /// Returns the relation for which the curve holds.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// Returns (order, divergence) pairs, in increasing order.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.orders.as_slice().iter().copied().zip(self.divergences.iter().copied())
    }

    /// Computes epsilon at this delta: the minimum over the orders α of r + ln(1 − 1/α) − ln(δα)/(α − 1), where r is
    /// the divergence at α. It is never below 0.
    ///
    /// Canonne, Kamath and Steinke 2020, proposition 12. `None` if no order gives a bound.
    pub fn epsilon(&self, delta: Delta) -> Option<Epsilon> {
        if self.divergences.iter().all(|divergence| *divergence == 0.0) {
            return Epsilon::new(0.0).ok();
        }
        let bound = |(order, divergence): (f64, f64)| {
            divergence + (-1.0 / order).ln_1p() - (delta.get() * order).ln() / (order - 1.0)
        };
        let least = self.points().map(bound).fold(f64::INFINITY, f64::min);
        Epsilon::new(least.max(0.0)).ok()
    }

    /// Computes delta at this epsilon: the minimum over the orders α of e^((α−1)(r−ε))·(1 − 1/α)^α/(α − 1), where r is
    /// the divergence at α. It is never above 1.
    pub fn delta(&self, epsilon: Epsilon) -> f64 {
        if self.divergences.iter().all(|divergence| *divergence == 0.0) {
            return 0.0;
        }
        let bound = |(order, divergence): (f64, f64)| {
            let ln_share = (-1.0 / order).ln_1p() * order - (order - 1.0).ln();
            (order - 1.0) * (divergence - epsilon.get()) + ln_share
        };
        self.points().map(bound).fold(0.0, f64::min).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::zcdp::{rho_of_gaussian, zcdp_epsilon};

    fn multiplier(value: f64, relation: Relation) -> NoiseMultiplier {
        NoiseMultiplier::new(value, relation).unwrap()
    }

    #[test]
    fn the_default_orders_lose_less_than_one_in_five_hundred() {
        for z in [0.05, 0.7, 3.0, 100.0, 1e4] {
            for releases in [1, 1000, 1_000_000] {
                for delta in [1e-12, 1e-5, 0.01].map(|delta| Delta::new(delta).unwrap()) {
                    let multiplier = multiplier(z, Relation::ZeroOut);
                    let curve = RdpCurve::of_gaussian(multiplier, Orders::default()).times(releases);
                    let epsilon = curve.epsilon(delta).unwrap().get();
                    let best = zcdp_epsilon(rho_of_gaussian(multiplier, releases), delta).get();
                    assert!(epsilon >= best * (1.0 - 1e-9), "{z} {releases} {delta}: {epsilon} {best}");
                    assert!(epsilon <= best * 1.002 + 1e-5, "{z} {releases} {delta}: {epsilon} {best}");
                }
            }
        }
    }

    #[test]
    fn delta_and_epsilon_undo_each_other() {
        let rate = SamplingRate::new(0.01).unwrap();
        let one =
            RdpCurve::of_poisson_gaussian(rate, multiplier(1.0, Relation::AddOrRemove), Orders::default());
        let curve = one.unwrap().times(1000);
        for delta in [1e-9, 1e-5, 1e-3] {
            let epsilon = curve.epsilon(Delta::new(delta).unwrap()).unwrap();
            assert!((curve.delta(epsilon) / delta - 1.0).abs() < 1e-6);
        }
        assert_eq!(curve.times(0).epsilon(Delta::new(1e-9).unwrap()).unwrap().get(), 0.0);
    }

    #[test]
    fn the_formulas_know_their_relation() {
        let rate = SamplingRate::new(0.01).unwrap();
        let replace = multiplier(1.0, Relation::ReplaceOne);
        let error = RdpCurve::of_poisson_gaussian(rate, replace, Orders::default()).unwrap_err();
        assert!(error.to_string().contains("not under replace one"));
        let other = RdpCurve::of_gaussian(replace, Orders::default());
        assert_eq!(
            RdpCurve::zero(Relation::ZeroOut, Orders::default()).plus(&other),
            Err(CurveError::Unlike)
        );
    }

    #[test]
    fn unlike_releases_compose() {
        let [first, second] =
            [1.0, 2.0].map(|z| RdpCurve::of_gaussian(multiplier(z, Relation::ZeroOut), Orders::default()));
        let both = first.plus(&second.times(3)).unwrap();
        let together =
            RdpCurve::of_rho(Rho::new(0.5 + 3.0 / 8.0).unwrap(), Relation::ZeroOut, Orders::default());
        assert!(both.points().zip(together.points()).all(|(a, b)| (a.1 - b.1).abs() < 1e-12 * b.1));
    }
}
