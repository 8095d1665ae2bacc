//! Distributed noise, which every client adds before secure aggregation. Only the sum of all shares is seen, so only
//! the sum is accounted.
//!
//! There are two distributions on the integers: Skellam, which stays Skellam under sums, and the discrete Gaussian,
//! which nearly does. An update of norm c is divided by the granularity γ, rotated, and rounded to integers at random.
//! The rounding is drawn again until the norm is within a bound (Kairouz, Liu and Steinke 2021, proposition 22). All
//! quantities here are in steps of that grid.

use super::order::Orders;
use super::special::ln_add;
use crate::budget::RangeError;
use crate::noise_multiplier::{NoiseMultiplier, Relation};

use super::{rdp::RdpCurve, zcdp::rho_of_gaussian};

/// The number of terms of τ that are summed one by one. All later terms are bounded by the last summed term.
const TERMS_MAX: u64 = 10_000;

/// The distribution of a client's share of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistributedNoise {
    /// The difference of two Poisson variables (Agarwal, Kairouz and Liu 2021, "The Skellam mechanism for differentially
    /// private federated learning").
    Skellam,
    /// The discrete Gaussian (Kairouz, Liu and Steinke 2021, "The distributed discrete Gaussian mechanism for federated
    /// learning with secure aggregation").
    DiscreteGaussian,
}

/// The sum of the noise shares of all counted clients, on integer vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistributedSum {
    /// The distribution of each share.
    pub noise: DistributedNoise,
    /// The minimum number of clients that add a share. Clients that may fail must not be counted.
    pub clients: u64,
    /// The standard deviation of one client's share, in grid steps.
    pub local_deviation: f64,
    /// The maximum L2 norm of a client's integer vector.
    pub norm: f64,
    /// The number of values of a vector.
    pub dimension: u64,
}

impl DistributedSum {
    /// Computes the Rényi curve of one release without sampling.
    ///
    /// # Errors
    /// [`RangeError`] if a number is not above 0 or not finite, or if an order is not an integer of at most 4096. The
    /// bounds are proven for integer orders only.
    pub fn curve(&self, relation: Relation, orders: Orders) -> Result<RdpCurve, RangeError> {
        self.check(&orders)?;
        let divergences = orders.as_slice().iter().map(|order| self.divergence(*order)).collect();
        Ok(RdpCurve::of_divergences(relation, orders, divergences))
    }

    /// Computes the Rényi curve of one release with Poisson sampling at this rate.
    ///
    /// Zhu and Wang 2019, "Poisson subsampled Rényi differential privacy", theorem 5. The theorem holds for any
    /// mechanism, so it is looser than bounds that are specific to the Gaussian mechanism.
    ///
    /// # Errors
    /// [`RangeError`] as for [`DistributedSum::curve`].
    pub fn poisson_sampled_curve(
        &self,
        rate: crate::SamplingRate,
        relation: Relation,
        orders: Orders,
    ) -> Result<RdpCurve, RangeError> {
        self.check(&orders)?;
        let at = |order: &f64| {
            let unsampled = self.divergence(*order);
            amplified(*order, rate.get(), |order| self.divergence(order)).min(unsampled)
        };
        let divergences = orders.as_slice().iter().map(at).collect();
        Ok(RdpCurve::of_divergences(relation, orders, divergences))
    }

    /// Returns whether one release costs at most what Gaussian noise with this multiplier costs: ρ + τ·d is at most 1/(2z²),
    /// for the ρ of a discrete Gaussian with the variance of the sum. Then the Rényi divergence is at most α/(2z²) at every
    /// order α of at least 1. Always false for Skellam noise, whose curve is not linear in the order.
    pub fn costs_at_most(&self, multiplier: NoiseMultiplier) -> bool {
        let variance = self.clients as f64 * self.local_deviation * self.local_deviation;
        let rho =
            self.norm * self.norm / (2.0 * variance) + self.distance_from_gaussian() * self.dimension as f64;
        self.noise == DistributedNoise::DiscreteGaussian && rho <= rho_of_gaussian(multiplier, 1).get()
    }

    fn check(&self, orders: &Orders) -> Result<(), RangeError> {
        let numbers = [
            ("clients", self.clients as f64),
            ("local deviation", self.local_deviation),
            ("norm", self.norm),
            ("dimension", self.dimension as f64),
        ];
        for (name, value) in numbers {
            RangeError::unless(value > 0.0 && value.is_finite(), name, value, "above 0 and finite")?;
        }
        let wrong = orders.as_slice().iter().copied().find(|order| order.fract() != 0.0 || *order > 4096.0);
        RangeError::unless(wrong.is_none(), "order", wrong.unwrap_or(0.0), "an integer of at most 4096")
    }

    /// Computes the Rényi divergence of the sum at an integer order.
    fn divergence(&self, order: f64) -> f64 {
        let dimension = self.dimension as f64;
        // The values are integers, so |x| ≤ x² and the L1 norm is at most the squared L2 norm.
        let l1 = self.norm * dimension.sqrt().min(self.norm);
        let square = self.norm * self.norm;
        let variance = self.clients as f64 * self.local_deviation * self.local_deviation;
        let gaussian = order * square / (2.0 * variance);
        match self.noise {
            DistributedNoise::Skellam => {
                // Agarwal, Kairouz and Liu 2021, corollary 3.6.
                let by_squares = ((2.0 * order - 1.0) * square + 6.0 * l1) / (4.0 * variance * variance);
                gaussian + by_squares.min(1.5 * l1 / variance)
            }
            DistributedNoise::DiscreteGaussian => {
                // Kairouz, Liu and Steinke 2021, theorem 1: the smallest of three bounds on how far the sum is from a
                // discrete Gaussian.
                let tau = self.distance_from_gaussian();
                let deviation = variance.sqrt();
                let by_l1 = square / variance + 2.0 * l1 / deviation * tau + tau * tau * dimension;
                let by_norm = (self.norm / deviation + tau * dimension.sqrt()).powi(2);
                (gaussian + tau * dimension).min(0.5 * order * by_l1).min(0.5 * order * by_norm)
            }
        }
    }

    /// Computes τ = 10·Σ over k from 1 to n − 1 of e^(−2π²σ²·k/(k + 1)), which bounds the distance of a sum of n
    /// discrete Gaussians from a single discrete Gaussian.
    fn distance_from_gaussian(&self) -> f64 {
        let exponent = 2.0 * (std::f64::consts::PI * self.local_deviation).powi(2);
        let shares = self.clients.saturating_sub(1);
        let term = |k: u64| (-exponent * k as f64 / (k + 1) as f64).exp();
        let listed: f64 = (1..=shares.min(TERMS_MAX)).map(term).sum();
        // Later terms are at most as large as the last one summed.
        10.0 * (listed + shares.saturating_sub(TERMS_MAX) as f64 * term(TERMS_MAX))
    }
}

/// Computes the Rényi divergence of a mechanism on a Poisson sample, at an integer order α, as ln(S)/(α − 1).
///
/// S is the sum of (1 − q)^(α − 1)·(αq − q + 1), of C(α, 2)·q²·(1 − q)^(α − 2)·e^ε(2), and for l from 3 to α of
/// 3·C(α, l)·q^l·(1 − q)^(α − l)·e^((l − 1)·ε(l)).
fn amplified(order: f64, q: f64, divergence: impl Fn(f64) -> f64) -> f64 {
    if q == 1.0 {
        return f64::INFINITY;
    }
    let ln_rest = (-q).ln_1p();
    let mut ln_sum = (order - 1.0) * ln_rest + (q * (order - 1.0)).ln_1p();
    let mut ln_coefficient = order.ln();
    for l in 2..=order as u32 {
        let l = f64::from(l);
        ln_coefficient += ((order - l + 1.0) / l).ln();
        let ln_three = if l > 2.0 { 3f64.ln() } else { 0.0 };
        let ln_term = ln_coefficient + (order - l) * ln_rest + l * q.ln() + (l - 1.0) * divergence(l);
        ln_sum = ln_add(ln_sum, ln_three + ln_term);
    }
    (ln_sum / (order - 1.0)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, NoiseMultiplier, SamplingRate};

    fn orders() -> Orders {
        Orders::new((2..=64).map(f64::from).collect()).unwrap()
    }

    fn sum(noise: DistributedNoise, local_deviation: f64) -> DistributedSum {
        DistributedSum { noise, clients: 100, local_deviation, norm: 1000.0, dimension: 10_000 }
    }

    #[test]
    fn a_fine_grid_costs_what_the_gaussian_costs() {
        let delta = Delta::new(1e-6).unwrap();
        // 100 shares with the deviation 200 add up to the deviation 2000, twice the norm: z = 2.
        let multiplier = NoiseMultiplier::new(2.0, Relation::ZeroOut).unwrap();
        let gaussian = RdpCurve::of_gaussian(multiplier, orders()).epsilon(delta).unwrap().get();
        for noise in [DistributedNoise::Skellam, DistributedNoise::DiscreteGaussian] {
            let curve = sum(noise, 200.0).curve(Relation::ZeroOut, orders()).unwrap();
            let epsilon = curve.epsilon(delta).unwrap().get();
            assert!(
                epsilon >= gaussian * (1.0 - 1e-12) && epsilon < gaussian * 1.001,
                "{epsilon} {gaussian}"
            );
        }
    }

    #[test]
    fn shares_below_half_a_step_are_no_gaussian_together() {
        let curve = |noise| {
            let sum = DistributedSum { norm: 1.0, ..sum(noise, 0.3) };
            sum.curve(Relation::ZeroOut, orders()).unwrap().points().next().unwrap().1
        };
        assert!(curve(DistributedNoise::DiscreteGaussian) > 1000.0);
        assert!(curve(DistributedNoise::Skellam) < 1.0);
    }

    #[test]
    fn a_sum_costs_no_more_than_its_charge_if_its_shares_are_wide() {
        let charge = |multiplier| NoiseMultiplier::new(multiplier, Relation::ZeroOut).unwrap();
        let gaussian = sum(DistributedNoise::DiscreteGaussian, 200.0);
        assert!(gaussian.costs_at_most(charge(2.0 - 1e-9)) && !gaussian.costs_at_most(charge(2.0 + 1e-9)));
        assert!(!sum(DistributedNoise::Skellam, 200.0).costs_at_most(charge(1.0)));
        // Shares of half a step: their sum has twice the norm as deviation, but is no Gaussian.
        let narrow = DistributedSum { norm: 2.5, ..sum(DistributedNoise::DiscreteGaussian, 0.5) };
        assert!(!narrow.costs_at_most(charge(1.0)));
        // A wide share is covered at each order of the true bound.
        let curve = gaussian.curve(Relation::ZeroOut, orders()).unwrap();
        let rho = rho_of_gaussian(charge(2.0 - 1e-9), 1).get();
        assert!(curve.points().all(|(order, divergence)| divergence <= order * rho));
    }

    #[test]
    fn sampling_only_ever_helps() {
        for rate in [1e-6, 0.02, 0.5, 1.0] {
            let rate = SamplingRate::new(rate).unwrap();
            for noise in [DistributedNoise::Skellam, DistributedNoise::DiscreteGaussian] {
                let sum = sum(noise, 300.0);
                let sampled = sum.poisson_sampled_curve(rate, Relation::ZeroOut, orders()).unwrap();
                let whole = sum.curve(Relation::ZeroOut, orders()).unwrap();
                assert!(sampled.points().zip(whole.points()).all(|(a, b)| a.1 <= b.1 && a.1 >= 0.0));
            }
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let broken = Orders::new(vec![2.5]).unwrap();
        let right = sum(DistributedNoise::Skellam, 1.0);
        assert!(right.curve(Relation::ZeroOut, broken).unwrap_err().to_string().contains("order is 2.5"));
        for wrong in [
            DistributedSum { clients: 0, ..right },
            DistributedSum { local_deviation: 0.0, ..right },
            DistributedSum { norm: f64::NAN, ..right },
            DistributedSum { dimension: 0, ..right },
        ] {
            assert!(wrong.curve(Relation::ZeroOut, orders()).is_err());
        }
    }
}
