use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use crate::{
    Combination, LocalTraining, Measured, Measurement, aggregator::Aggregator, local_training::expect_several,
};

/// The largest value of q.
const Q_MAX: f64 = 100.0;
/// The smallest loss. With q below 1, a loss of 0 would stop the model: its power of q − 1 is infinite.
const LOSS_MIN: f64 = 1e-10;

/// q-FedAvg: a mean in which clients with a larger loss count more, with a step that becomes shorter where the losses are steep.
///
/// Li, Sanjabi, Beirami and Smith 2020, "Fair resource allocation in federated learning", algorithm 2. It minimises
/// Σ pᵢ·Fᵢ^(q+1) / (q + 1). In units of updates dᵢ, where the paper's Δwᵢ is −L·dᵢ, the aggregate is
/// Σ nᵢ·Fᵢ^q·dᵢ / Σ nᵢ·(Fᵢ^q + q·L·Fᵢ^(q−1)·‖dᵢ‖²).
///
/// The paper draws clients with the probabilities pᵢ and weights them alike. Here the draw is usually uniform, so the client's weight
/// nᵢ stands for pᵢ. With q = 0, this is the weighted mean.
///
/// Fᵢ is the mean loss that the client reports for its local training. The paper evaluates Fᵢ at the current model. The reported loss is
/// measured before each local step, so both are the same only if a client makes one step with all of its examples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QFedAvg {
    /// The fairness. With 0, this is the weighted mean; the larger it is, the more the clients with the largest losses count.
    #[serde(default = "default_q")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 100.0)))]
    pub q: f64,
    /// L, an estimate of the Lipschitz constant of the loss's gradient, above 0. The default is 1 / the learning rate of the plan's
    /// optimizer, which must then be SGD without momentum.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [10.0])))]
    pub lipschitz: Option<f64>,
}

fn default_q() -> f64 {
    1.0
}

impl Default for QFedAvg {
    fn default() -> Self {
        Self { q: default_q(), lipschitz: None }
    }
}

impl QFedAvg {
    /// Returns L: the setting, or else 1 / the learning rate of plain SGD. `None` if there is neither.
    pub fn lipschitz_with(&self, learning_rate: Option<f64>) -> Option<f64> {
        self.lipschitz.or_else(|| learning_rate.map(|rate| 1.0 / rate))
    }
}

impl Aggregator for QFedAvg {
    fn measurement(&self) -> Measurement {
        Measurement::Norms
    }

    fn combination(&self, weights: &[u64], attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::attenuated_mean(weights.iter().copied(), attenuations)
    }

    fn loss_factors(
        &self,
        weights: &[u64],
        training: &LocalTraining,
        measured: &Measured,
    ) -> Option<Vec<f64>> {
        let norms = measured.norms();
        let lipschitz =
            self.lipschitz_with(training.learning_rate).expect("the task's validation requires L");
        let losses = || training.losses.iter().map(|loss| loss.max(LOSS_MIN));
        // Dividing all powers by the largest one changes nothing else, and none of them can overflow. Updates without a weight are
        // left out, so that the sum of the others is above 0.
        let counted = losses().zip(weights).filter(|(_, weight)| **weight > 0);
        let largest = counted.map(|(loss, _)| loss).reduce(f64::max)?;
        let powers: Vec<f64> = losses().map(|loss| libm::pow((loss / largest).min(1.0), self.q)).collect();
        let sum: f64 = weights.iter().map(|weight| *weight as f64).sum();
        let terms = weights.iter().zip(&powers).zip(losses()).enumerate();
        let divisor: f64 = terms
            .map(|(index, ((weight, power), loss))| {
                *weight as f64 * power * (1.0 + self.q * lipschitz * norms.squared(index) / loss)
            })
            .sum();
        Some(powers.into_iter().map(|power| sum * power / divisor).collect())
    }

    fn validate(&self, cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        if !(0.0..=Q_MAX).contains(&self.q) {
            let remedy = "it must be 0 to 100; try 0.1, 1 and 5";
            faults.push(Fault::new("aggregator.q", format!("it is {}", self.q), remedy));
        }
        if let Some(lipschitz) =
            self.lipschitz.filter(|lipschitz| !(*lipschitz > 0.0 && lipschitz.is_finite()))
        {
            let remedy = "it must be above 0; remove it for 1 / the learning rate of plain SGD";
            faults.push(Fault::new("aggregator.lipschitz", format!("it is {lipschitz}"), remedy));
        }
        expect_several(cohort_min, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [u64; 3] = [10, 30, 60];
    const ROWS: [&[f32]; 3] = [&[0.2, -0.4], &[0.5, 1.0], &[-2.0, 3.0]];

    fn aggregate(rule: QFedAvg, losses: [f64; 3], learning_rate: Option<f64>) -> [f64; 2] {
        let mut measured = Measured::new(rule.measurement(), 3, 0);
        measured.add_tile(&ROWS);
        let training = LocalTraining { losses: losses.to_vec(), learning_rate };
        let factors = rule.loss_factors(&WEIGHTS, &training, &measured).expect("the updates have weights");
        let mut out = [0.0; 2];
        rule.combination(&WEIGHTS, &factors, &measured).combine(0, &ROWS, &mut out);
        out
    }

    /// The expected numbers come from these lines, with numpy 2.4.6. They are the paper's formulas, with n for the draw:
    ///
    /// ```python
    /// n, F, L = np.array([10, 30, 60]), np.array([0.3, 2.0, 0.9]), 1 / 0.25
    /// d = np.array([[0.2, -0.4], [0.5, 1.0], [-2.0, 3.0]])
    /// for q in (0, 0.1, 1, 5):
    ///     dw = -L * d
    ///     delta = (F ** q)[:, None] * dw
    ///     h = q * F ** (q - 1.0) * (dw ** 2).sum(1) + L * F ** q
    ///     print(-(n @ delta) / (n @ h))
    /// ```
    #[test]
    fn the_aggregate_is_that_of_the_paper() {
        let expected = [
            (0.0, [-1.03, 2.06]),
            (0.1, [-0.222315606514, 0.455505983783]),
            (1.0, [-0.022798232695, 0.065036818851]),
            (5.0, [0.017612119893, 0.045899071909]),
        ];
        for (q, expected) in expected {
            let derived = aggregate(QFedAvg { q, lipschitz: None }, [0.3, 2.0, 0.9], Some(0.25));
            let is_near = derived.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6);
            assert!(is_near, "{q}: {derived:?}");
            let set = aggregate(QFedAvg { q, lipschitz: Some(4.0) }, [0.3, 2.0, 0.9], Some(17.0));
            assert_eq!(set, derived, "the setting comes first");
        }
    }

    #[test]
    fn no_loss_overflows_or_stops_the_others() {
        let rule = |q| QFedAvg { q, lipschitz: Some(1.0) };
        // The other powers vanish, and so does the share of the norm: 60·(−2, 3) / 60.
        let huge = aggregate(rule(100.0), [0.3, 2.0, 3e38], None);
        assert!((huge[0] + 2.0).abs() < 1e-12 && (huge[1] - 3.0).abs() < 1e-12, "{huge:?}");
        for losses in [[0.0; 3], [0.0, 3e38, 1.0]] {
            for q in [0.0, 0.1, 1.0, 100.0] {
                let found = aggregate(rule(q), losses, None);
                assert!(found.iter().all(|value| value.is_finite()), "{q} {losses:?}: {found:?}");
            }
        }
        let training = LocalTraining { losses: vec![1.0], learning_rate: None };
        let measured = Measured::new(Measurement::Norms, 1, 0);
        assert_eq!(rule(1.0).loss_factors(&[0], &training, &measured), None);
    }

    #[test]
    fn settings_outside_of_their_ranges_are_refused() {
        let fields = |q, lipschitz, cohort_min| {
            let mut faults = Vec::new();
            QFedAvg { q, lipschitz }.validate(cohort_min, 9, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        for q in [0.0, 0.1, 100.0] {
            assert_eq!(fields(q, None, 2), [""; 0]);
        }
        for q in [-0.1, 101.0, f64::NAN] {
            assert_eq!(fields(q, Some(1.0), 2), ["aggregator.q"]);
        }
        for lipschitz in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(fields(1.0, Some(lipschitz), 2), ["aggregator.lipschitz"]);
        }
        assert_eq!(fields(1.0, None, 1), ["aggregator.kind"]);
    }
}
