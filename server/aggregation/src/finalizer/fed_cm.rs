use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{
    Commit, CommitSchedule, Finalizer,
    checks::{expect_positive, refuse},
};

/// FedCM: w ← w + η·mean(Δ), where clients mix each gradient with the direction of the last version.
///
/// Xu, Wang, Wang and Yao 2021, "FedCM: federated learning with client-level momentum", algorithm 1. A client steps by its
/// gradient times alpha plus d times 1 − alpha, where d = −mean(Δ)/(K·r) is the mean gradient of the last commit, whose clients
/// made K local steps of learning rate r. Before the first commit, d is 0.
///
/// The state of each parameter is d.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedCm {
    /// The weight of a client's own gradient in its steps, from 0.001 to 1. With 1, this is federated averaging.
    #[serde(default = "alpha")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0.001, max = 1)))]
    pub alpha: f32,
    /// The server's learning rate η, above 0.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The change of the learning rate over the commits.
    #[serde(default, skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

/// Below this, clients hardly follow their own gradients.
const ALPHA_MIN: f32 = 0.001;

fn alpha() -> f32 {
    0.1
}

fn one() -> f64 {
    1.0
}

impl FedCm {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        if !(ALPHA_MIN..=1.0).contains(&self.alpha) {
            refuse(
                "alpha",
                self.alpha.into(),
                "it must lie between 0.001 and 1; use 0.1 for most tasks",
                faults,
            );
        }
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        self.schedule.validate(faults);
    }
}

impl Finalizer for FedCm {
    fn state_count(&self) -> usize {
        1
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let rate = self.server_learning_rate * self.schedule.factor(commit.number);
        for ((weight, delta), direction) in weights.iter_mut().zip(mean_delta).zip(state[0].iter_mut()) {
            *weight = to_float32(f64::from(*weight) + rate * delta);
            *direction = to_float32(-delta / commit.local_rate_sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::laws::{Step, expect_steps},
        *,
    };

    /// With K·r = 0.5, d is −2·Δ, and it forgets all commits but the last.
    #[test]
    fn three_steps() {
        let fed_cm = FedCm { alpha: 0.1, server_learning_rate: 0.5, schedule: CommitSchedule::default() };
        let commit = Commit { updates: 3, local_rate_sum: 0.5, ..Commit::default() };
        let steps = [
            Step { weights: [1.25, -0.625, 0.25], state: &[[-1.0, 0.5, 0.0]] },
            Step { weights: [1.5, -0.375, 0.2505], state: &[[-1.0, -1.0, -0.002]] },
            Step { weights: [1.625, -0.40625, 0.2505], state: &[[-0.5, 0.125, 0.0]] },
        ];
        expect_steps(&fed_cm, commit, steps);
    }

    #[test]
    fn alpha_is_a_share_that_is_not_too_small() {
        let faults = |alpha| {
            let mut faults = Vec::new();
            let fed_cm = FedCm { alpha, server_learning_rate: 1.0, schedule: CommitSchedule::default() };
            fed_cm.validate(&mut faults);
            faults.len()
        };
        assert_eq!([0.1, 1.0, ALPHA_MIN, 1e-40, 1.5, f32::NAN].map(faults), [0, 0, 0, 1, 1, 1]);
    }
}
