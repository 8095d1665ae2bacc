use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{Commit, CommitSchedule, Finalizer, checks::expect_positive};

/// Federated averaging: w ← w + η·mean(Δ), with η = 1 as in McMahan et al. 2017, algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FedAvg {
    /// The server's learning rate η, above 0.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The change of the learning rate over the commits.
    #[serde(skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

impl Default for FedAvg {
    fn default() -> Self {
        Self { server_learning_rate: 1.0, schedule: CommitSchedule::default() }
    }
}

impl FedAvg {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        self.schedule.validate(faults);
    }
}

impl Finalizer for FedAvg {
    fn state_count(&self) -> usize {
        0
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], _state: &mut [&mut [f32]]) {
        let rate = self.server_learning_rate * self.schedule.factor(commit.number);
        for (weight, delta) in weights.iter_mut().zip(mean_delta) {
            *weight = to_float32(f64::from(*weight) + rate * delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::LearningRateSchedule;

    use super::*;

    fn next(finalizer: FedAvg, number: u64, weight: f32, mean_delta: f64) -> f32 {
        let mut weights = [weight];
        finalizer.advance(&Commit { number, ..Commit::default() }, &mut weights, &[mean_delta], &mut []);
        weights[0]
    }

    #[test]
    fn the_mean_delta_is_added() {
        assert_eq!(next(FedAvg::default(), 1, 1.0, 0.25), 1.25);
        assert_eq!(next(FedAvg { server_learning_rate: 0.5, ..FedAvg::default() }, 1, 1.0, 0.25), 1.125);
    }

    #[test]
    fn the_schedule_scales_the_rate() {
        let learning_rate_schedule = LearningRateSchedule::Exponential { factor: 0.5 };
        let schedule = CommitSchedule { warmup_commits: 2, learning_rate_schedule };
        let finalizer = FedAvg { server_learning_rate: 2.0, schedule };
        assert_eq!([1, 2, 3, 4].map(|number| next(finalizer, number, 1.0, 0.25)), [1.25, 1.5, 1.5, 1.25]);
    }

    #[test]
    fn at_rate_1_there_is_one_rounding_of_the_sum() {
        let (weight, delta) = (0.1f32, 1.0 / 3.0);
        let expected = (f64::from(weight) + 1.0 * delta) as f32;
        assert_eq!(next(FedAvg::default(), 9, weight, delta).to_bits(), expected.to_bits());
    }
}
