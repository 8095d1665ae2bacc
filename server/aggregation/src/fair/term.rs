use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use crate::{Combination, LocalTraining, Measured, aggregator::Aggregator, local_training::expect_several};

/// The largest absolute value of the tilt.
const TILT_MAX: f64 = 1e6;

/// TERM: a mean in which clients with a larger loss count more, or less: Σ nᵢ·exp(t·Fᵢ)·Δᵢ / Σ nᵢ·exp(t·Fᵢ).
///
/// Li, Beirami, Sanjabi and Smith 2021, "Tilted empirical risk minimization": the gradient of the tilted loss
/// 1/t · log Σ pᵢ·exp(t·Fᵢ) over groups, with clients as groups and without a tilt inside a client. nᵢ is the client's weight. Fᵢ is
/// the mean loss that the client reports for its local training.
///
/// The paper evaluates Fᵢ at the current model. The reported loss is measured before each local step, so both are the same only if
/// a client makes one step with all of its examples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// t, per unit of the loss. Above 0, clients with a large loss count more, which is fair to them. Below 0, they count
    /// less, which is robust to clients with wrong labels. With 0, this is the weighted mean.
    #[serde(default = "default_tilt")]
    #[cfg_attr(feature = "schema", schemars(range(min = -1e6, max = 1e6)))]
    pub tilt: f64,
}

fn default_tilt() -> f64 {
    1.0
}

impl Default for Term {
    fn default() -> Self {
        Self { tilt: default_tilt() }
    }
}

impl Aggregator for Term {
    fn combination(&self, weights: &[u64], attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::attenuated_mean(weights.iter().copied(), attenuations)
    }

    fn loss_factors(
        &self,
        weights: &[u64],
        training: &LocalTraining,
        _measured: &Measured,
    ) -> Option<Vec<f64>> {
        // Dividing all exponentials by the largest one changes nothing else, and none of them can overflow. Updates without a
        // weight are left out, so that the sum of the others is above 0.
        let counted = weights.iter().zip(&training.losses).filter(|(weight, _)| **weight > 0);
        let further = if self.tilt > 0.0 { f64::max } else { f64::min };
        let extreme = counted.map(|(_, loss)| *loss).reduce(further)?;
        let tilted: Vec<f64> =
            training.losses.iter().map(|loss| libm::exp((self.tilt * (loss - extreme)).min(0.0))).collect();
        let sum: f64 = weights.iter().map(|weight| *weight as f64).sum();
        let divisor: f64 = weights.iter().zip(&tilted).map(|(weight, tilted)| *weight as f64 * tilted).sum();
        Some(tilted.into_iter().map(|tilted| sum * tilted / divisor).collect())
    }

    fn validate(&self, cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        if self.tilt.is_nan() || self.tilt.abs() > TILT_MAX {
            let remedy = "it must be -1e6 to 1e6; try 0.1, 1 and 10, or -1 if some clients have wrong labels";
            faults.push(Fault::new("aggregator.tilt", format!("it is {}", self.tilt), remedy));
        }
        expect_several(cohort_min, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(tilt: f64, weights: &[u64], losses: &[f64]) -> Vec<f64> {
        let training = LocalTraining { losses: losses.to_vec(), learning_rate: None };
        Term { tilt }.loss_factors(weights, &training, &Measured::None).expect("some updates have a weight")
    }

    /// The expected numbers come from these lines, with numpy 2.4.6:
    ///
    /// ```python
    /// n, loss = np.array([10, 30, 60]), np.array([0.3, 2.0, 0.9])
    /// x = np.array([[0.2, -0.4], [0.5, 1.0], [-2.0, 3.0]])
    /// for t in (-1.5, 0, 0.5, 4): print((n * np.exp(t * loss)) @ x / (n * np.exp(t * loss)).sum())
    /// ```
    #[test]
    fn the_mean_is_numpys() {
        let weights = [10, 30, 60];
        let rows: [&[f32]; 3] = [&[0.2, -0.4], &[0.5, 1.0], &[-2.0, 3.0]];
        let expected = [
            (-1.5, [-1.241734332182, 1.946966544871]),
            (0.0, [-1.03, 2.06]),
            (0.5, [-0.774833294617, 1.918117628589]),
            (4.0, [0.439997540565, 1.047407911212]),
        ];
        for (tilt, expected) in expected {
            let factors = factors(tilt, &weights, &[0.3, 2.0, 0.9]);
            let mut out = [0.0; 2];
            Term { tilt }.combination(&weights, &factors, &Measured::None).combine(0, &rows, &mut out);
            let is_near = out.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-6);
            assert!(is_near, "{tilt}: {out:?}");
        }
    }

    #[test]
    fn large_losses_and_tilts_do_not_overflow() {
        // The client with the largest loss is the only one that counts, and with a negative tilt the other one.
        assert_eq!(factors(1e6, &[1, 3], &[2.0, 3e38]), [0.0, 4.0 / 3.0]);
        assert_eq!(factors(-1e6, &[1, 3], &[2.0, 3e38]), [4.0, 0.0]);
        assert_eq!(factors(1e6, &[1, 3], &[0.0, 0.0]), [1.0, 1.0]);
        // An update without a weight does not count, however large its loss is.
        assert_eq!(factors(5.0, &[0, 2, 2], &[1e30, 1.0, 1.0])[1..], [1.0, 1.0]);
        let none = LocalTraining { losses: vec![1.0], learning_rate: None };
        assert_eq!(Term::default().loss_factors(&[0], &none, &Measured::None), None);
    }

    #[test]
    fn a_tilt_is_finite_and_compares_at_least_two_clients() {
        let fields = |tilt, cohort_min| {
            let mut faults = Vec::new();
            Term { tilt }.validate(cohort_min, 9, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        for tilt in [-1e6, -1.0, 0.0, 10.0, 1e6] {
            assert_eq!(fields(tilt, 2), [""; 0]);
        }
        for tilt in [f64::NAN, f64::INFINITY, -2e6] {
            assert_eq!(fields(tilt, 2), ["aggregator.tilt"]);
        }
        assert_eq!(fields(1.0, 1), ["aggregator.kind"]);
    }
}
