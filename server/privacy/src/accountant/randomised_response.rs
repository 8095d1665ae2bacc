//! Randomised response: a client reports its true category with a known probability, and otherwise a category drawn
//! from the others. A bit has two categories; a quantised number has several.

use super::order::Orders;
use super::rdp::RdpCurve;
use super::special::{ln_add, ln_exp_minus_one};
use crate::budget::{Epsilon, RangeError, Rho};
use crate::noise_multiplier::Relation;

/// Returns the probability of reporting the true category and the probability of reporting any one of the others. They
/// make a report `epsilon`-locally private.
///
/// Warner 1965; for k categories Kairouz, Bonawitz and Ramage 2016: e^ε / (e^ε + k − 1) and 1 / (e^ε + k − 1).
///
/// # Errors
/// [`RangeError`] for fewer than two categories.
pub fn randomised_response(epsilon: Epsilon, categories: u64) -> Result<(f64, f64), RangeError> {
    RangeError::unless(categories >= 2, "number of categories", categories as f64, "at least 2")?;
    let shrink = (-epsilon.get()).exp();
    let total = 1.0 + (categories - 1) as f64 * shrink;
    Ok((1.0 / total, shrink / total))
}

/// Returns the smallest ρ that bounds every ε-private mechanism: ε·tanh(ε/2), which is below both ε²/2 and ε.
///
/// Steinke 2024, "Tight RDP & zCDP bounds from pure DP". Randomised response with two categories attains this bound at
/// the order 1. This ρ can be added to the ρ of Gaussian releases and of other reports.
pub fn rho_of_pure(epsilon: Epsilon) -> Rho {
    let epsilon = epsilon.get();
    Rho::new(epsilon * (0.5 * epsilon).tanh()).expect("at most a finite epsilon")
}

/// Randomised response with one epsilon and one number of categories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomisedResponse {
    epsilon: Epsilon,
    categories: u64,
    keep: f64,
    other: f64,
}

/// An estimate from the reports of many clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The unbiased estimate.
    pub value: f64,
    /// The standard error of `value`. It includes the randomness of the answers and of the choice of clients.
    pub standard_error: f64,
}

impl RandomisedResponse {
    /// Creates randomised response with the epsilon of one report and the number of categories.
    ///
    /// # Errors
    /// [`RangeError`] for fewer than two categories.
    pub fn new(epsilon: Epsilon, categories: u64) -> Result<Self, RangeError> {
        let (keep, other) = randomised_response(epsilon, categories)?;
        Ok(Self { epsilon, categories, keep, other })
    }

    /// Returns the probability of reporting the true category.
    pub fn keep(&self) -> f64 {
        self.keep
    }

    /// Returns the probability of reporting any one other category.
    pub fn other(&self) -> f64 {
        self.other
    }

    /// Returns the ρ of one report.
    pub fn rho(&self) -> Rho {
        rho_of_pure(self.epsilon)
    }

    /// Computes the exact Rényi curve of one report. For a change between two true categories, the loss is ε or −ε if
    /// one of the two is reported, and 0 otherwise.
    ///
    /// The mean of e^((α−1)·loss) is then 1 + p_keep·(e^((α−1)ε) − 1)·(1 − e^(−αε)), in which nothing cancels. The
    /// curve holds for a client whose category is replaced by another: [`Relation::ReplaceOne`].
    pub fn curve(&self, orders: Orders) -> RdpCurve {
        let epsilon = self.epsilon.get();
        let at = |order: &f64| {
            if epsilon == 0.0 {
                return 0.0;
            }
            let ln_excess = self.keep.ln()
                + ln_exp_minus_one((order - 1.0) * epsilon)
                + (-(-order * epsilon).exp_m1()).ln();
            ln_add(0.0, ln_excess) / (order - 1.0)
        };
        let divergences = orders.as_slice().iter().map(at).collect();
        RdpCurve::of_divergences(Relation::ReplaceOne, orders, divergences)
    }

    /// Estimates the mean of `values`, one for each category, from the number of reports of each category.
    ///
    /// A report of the category with the value v is scored as (v − Σ values·p_other)/(p_keep − p_other). The mean score
    /// is the true mean. With the values 0 and 1 the estimate is a share. It may lie outside the range of the values.
    ///
    /// # Errors
    /// [`RangeError`] if the number of values or of counts differs from the number of categories, a value is not
    /// finite, there are fewer than two reports, or epsilon is 0. With an epsilon of 0, reports carry no information.
    pub fn mean(&self, values: &[f64], counts: &[u64]) -> Result<Estimate, RangeError> {
        for (name, length) in [("number of values", values.len()), ("number of counts", counts.len())] {
            let is_right = length as u64 == self.categories;
            RangeError::unless(is_right, name, length as f64, "the number of categories")?;
        }
        let wrong = values.iter().copied().find(|value| !value.is_finite());
        RangeError::unless(wrong.is_none(), "value", wrong.unwrap_or(0.0), "finite")?;
        let kept_more = self.keep - self.other;
        RangeError::unless(kept_more > 0.0, "epsilon", self.epsilon.get(), "above 0 for an estimate")?;
        let reports: f64 = counts.iter().map(|count| *count as f64).sum();
        RangeError::unless(reports >= 2.0, "number of reports", reports, "at least 2")?;
        let said = || values.iter().zip(counts.iter().map(|count| *count as f64));
        let mean = said().map(|(value, count)| value * count).sum::<f64>() / reports;
        let square = said().map(|(value, count)| (value - mean).powi(2) * count).sum::<f64>();
        let value = (mean - self.other * values.iter().sum::<f64>()) / kept_more;
        let standard_error = (square / (reports - 1.0) / reports).sqrt() / kept_more;
        Ok(Estimate { value, standard_error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::{rho_of_gaussian, zcdp_epsilon};
    use crate::{Delta, NoiseMultiplier};

    fn response(epsilon: f64, categories: u64) -> RandomisedResponse {
        RandomisedResponse::new(Epsilon::new(epsilon).unwrap(), categories).unwrap()
    }

    #[test]
    fn rho_bounds_the_curve_and_two_categories_meet_it() {
        for epsilon in [1e-3, 0.5, 2.0, 8.0, 300.0] {
            for categories in [2, 3, 10, 1000] {
                let response = response(epsilon, categories);
                let rho = response.rho().get();
                for (order, divergence) in response.curve(Orders::default()).points() {
                    assert!(divergence <= rho * order * (1.0 + 1e-9), "{epsilon} {categories} {order}");
                }
                assert!(rho <= epsilon && rho <= 0.5 * epsilon * epsilon);
            }
            // Near the order 1 the divergence is the mean loss.
            let near_one = response(epsilon, 2).curve(Orders::new(vec![1.000_01]).unwrap());
            let divergence = near_one.points().next().unwrap().1;
            let rho = rho_of_pure(Epsilon::new(epsilon).unwrap()).get();
            assert!((divergence / rho - 1.0).abs() < 0.01, "{epsilon}: {divergence} {rho}");
        }
    }

    #[test]
    fn reports_and_gaussian_releases_add_up() {
        let delta = Delta::new(1e-6).unwrap();
        let report = response(0.2, 2).rho().get();
        let multiplier = NoiseMultiplier::new(5.0, Relation::ReplaceOne).unwrap();
        let release = rho_of_gaussian(multiplier, 10).get();
        let both = zcdp_epsilon(Rho::new(10.0 * report + release).unwrap(), delta).get();
        let by_curves = response(0.2, 2)
            .curve(Orders::default())
            .times(10)
            .plus(&RdpCurve::of_gaussian(multiplier, Orders::default()).times(10))
            .unwrap();
        // The sum of curves gives a smaller epsilon than the sum of ρ.
        let tight = by_curves.epsilon(delta).unwrap().get();
        assert!(tight < both && tight > 0.9 * both, "{tight} {both}");
    }

    #[test]
    fn the_estimate_has_no_bias_and_the_error_that_it_says() {
        let response = response(1.5, 4);
        let (values, shares) = ([-1.0, 0.0, 2.0, 5.0], [0.1, 0.4, 0.3, 0.2]);
        let expected = [0, 1, 2, 3].map(|category: usize| {
            response.other() + shares[category] * (response.keep() - response.other())
        });
        let truth: f64 = values.iter().zip(shares).map(|(value, share)| value * share).sum();
        // The counts are the expected ones, so only rounding errors remain.
        let counts = expected.map(|share| (share * 1e9).round() as u64);
        let estimate = response.mean(&values, &counts).unwrap();
        assert!((estimate.value - truth).abs() < 1e-6, "{estimate:?} {truth}");
        // Over many draws, the mean squared error agrees with the reported standard error.
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 * f64::exp2(-53.0)
        };
        let mut squares = 0.0;
        for _ in 0..400 {
            let mut counts = [0; 4];
            for _ in 0..500 {
                let mut rest = uniform();
                let said = expected.iter().position(|share| {
                    rest -= share;
                    rest < 0.0
                });
                counts[said.unwrap_or(3)] += 1;
            }
            let estimate = response.mean(&values, &counts).unwrap();
            squares += ((estimate.value - truth) / estimate.standard_error).powi(2) / 400.0;
        }
        // The tolerance is six standard deviations of a mean of 400 squares.
        assert!((squares - 1.0).abs() < 6.0 * (2.0f64 / 400.0).sqrt(), "{squares}");
    }

    #[test]
    fn what_is_no_set_of_reports_is_refused() {
        let response = response(1.0, 2);
        assert!(response.mean(&[0.0, 1.0], &[5]).unwrap_err().to_string().contains("number of counts"));
        assert!(response.mean(&[0.0], &[5, 5]).is_err() && response.mean(&[0.0, 1.0], &[1, 0]).is_err());
        assert!(response.mean(&[0.0, f64::NAN], &[5, 5]).is_err());
        let silent = RandomisedResponse::new(Epsilon::new(0.0).unwrap(), 2).unwrap();
        assert!(silent.mean(&[0.0, 1.0], &[5, 5]).unwrap_err().to_string().contains("epsilon is 0"));
        assert_eq!(silent.rho().get(), 0.0);
        assert!(response.mean(&[0.0, 1.0], &[u64::MAX, u64::MAX]).unwrap().value.is_finite());
    }

    #[test]
    fn the_probabilities_add_up_and_differ_by_epsilon() {
        for epsilon in [0.0, 0.5, 700.0] {
            let (keep, other) = randomised_response(Epsilon::new(epsilon).unwrap(), 5).unwrap();
            assert!((keep + 4.0 * other - 1.0).abs() < 1e-12);
            assert!(((keep / other).ln() - epsilon).abs() < 1e-9);
        }
        assert!(randomised_response(Epsilon::new(1.0).unwrap(), 1).is_err());
    }
}
