use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{Commit, CommitSchedule, Finalizer, checks::expect_positive};
use crate::Spread;

/// FedExP: federated averaging whose step grows as the updates disagree, w ← w + η·mean(Δ) with
/// η = max(1, Σ pᵢ·‖Δᵢ‖² / (2·(‖mean(Δ)‖² + ε))).
///
/// Jhunjhunwala, Wang and Joshi 2023, "FedExP: speeding up federated averaging via extrapolation", where each of n updates
/// counts pᵢ = 1/n; here, pᵢ is the update's share of the mean. Clients that train far, in different directions, cancel each
/// other out in the mean, and the step makes up for it.
///
/// η has no upper limit: clients that send large opposite updates make it large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FedExp {
    /// ε, above 0, in squared units of the weights. A larger ε keeps the step near 1 when the mean is small.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub epsilon: f64,
    /// The change of the learning rate over the commits. It multiplies the step.
    #[serde(skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

impl Default for FedExp {
    fn default() -> Self {
        Self { epsilon: 1e-3, schedule: CommitSchedule::default() }
    }
}

impl FedExp {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_positive("epsilon", self.epsilon, faults);
        self.schedule.validate(faults);
    }

    /// Returns η for updates of this spread.
    pub(super) fn step(&self, spread: &Spread) -> f64 {
        // The comparison also maps a NaN to 1.
        (spread.mean_of_squares() / (2.0 * (spread.square_of_mean() + self.epsilon))).max(1.0)
    }
}

impl Finalizer for FedExp {
    fn state_count(&self) -> usize {
        0
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    /// `mean_delta` is already multiplied by η; see [`super::FinalizerChoice::extrapolated`].
    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], _state: &mut [&mut [f32]]) {
        let rate = self.schedule.factor(commit.number);
        for (weight, delta) in weights.iter_mut().zip(mean_delta) {
            *weight = to_float32(f64::from(*weight) + rate * delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::{super::FinalizerChoice, *};
    use crate::Combination;

    fn extrapolated(epsilon: f64, factors: &[f64], divisor: f64, rows: &[&[f32]]) -> Vec<f64> {
        let choice = FinalizerChoice::FedExp(FedExp { epsilon, ..FedExp::default() });
        let combination = Combination::Mean { factors: factors.to_vec(), divisor };
        let combination = choice.extrapolated(combination, |spread| {
            spread.add_tile(rows);
            Ok::<_, Infallible>(())
        });
        let mut out = vec![f64::NAN; rows[0].len()];
        combination.unwrap().combine(0, rows, &mut out);
        out
    }

    /// The expected numbers come from these lines, with numpy 2.4.6:
    ///
    /// ```python
    /// x = np.array([[3.0, 1.0, 0.0], [-3.0, 1.0, 0.5], [0.5, 2.0, -4.0]]); p = np.array([1, 3, 4]) / 8
    /// m = p @ x; max(1, p @ (x ** 2).sum(1) / (2 * ((m ** 2).sum() + 0.1))) * m
    /// ```
    #[test]
    fn the_step_is_numpys() {
        let rows: [&[f32]; 3] = [&[3.0, 1.0, 0.0], &[-3.0, 1.0, 0.5], &[0.5, 2.0, -4.0]];
        let out = extrapolated(0.1, &[1.0, 3.0, 4.0], 8.0, &rows);
        let expected = [-0.6464887826894996, 1.9394663480684988, -2.343521837249436];
        assert!(out.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-9), "{out:?}");
    }

    #[test]
    fn updates_that_agree_are_averaged() {
        // Σ pᵢ·‖Δᵢ‖² is ‖mean(Δ)‖², so η would be below ½.
        assert_eq!(extrapolated(0.1, &[1.0, 1.0], 2.0, &[&[3.0, 1.0], &[3.0, 1.0]]), [3.0, 1.0]);
        assert_eq!(extrapolated(0.1, &[1.0, 1.0], 2.0, &[&[0.0], &[0.0]]), [0.0]);
    }

    #[test]
    fn updates_at_right_angles_are_added() {
        // Of n updates with norm 1 at right angles, ‖mean(Δ)‖² is 1/n, so η is n/2 for a tiny ε.
        let rows: [&[f32]; 4] =
            [&[1.0, 0.0, 0.0, 0.0], &[0.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 0.0], &[0.0, 0.0, 0.0, 1.0]];
        let out = extrapolated(1e-12, &[1.0; 4], 4.0, &rows);
        assert!(out.iter().all(|value| (value - 0.5).abs() < 1e-9), "{out:?}");
    }

    #[test]
    fn epsilon_must_be_above_0() {
        let faults = |epsilon| {
            let mut faults = Vec::new();
            FedExp { epsilon, ..FedExp::default() }.validate(&mut faults);
            faults.len()
        };
        assert_eq!([1e-9, 0.0, -1.0, f64::NAN, f64::INFINITY].map(faults), [0, 1, 1, 1, 1]);
    }
}
