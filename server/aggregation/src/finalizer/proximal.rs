use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{Commit, CommitSchedule, Finalizer, checks::expect_positive};

/// Federated averaging with a proximal step of the l1 norm at the coordinator: w ← sign(v)·max(|v| − η·threshold, 0) for v = w + η·mean(Δ).
///
/// The mean of sparse models is less sparse than they are. The step sets small weights of the version to 0 after the
/// mean (server mirror descent with the l1 norm: Yuan, Zaheer and Reddi 2021, "Federated composite optimization",
/// section 3, as in FedMiD). It applies to all tensors of the version, including biases. To exclude a tensor, name it
/// in `plan.frozen` or `plan.personal`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Proximal {
    /// The server's learning rate η, above 0. 1 is federated averaging before the proximal step.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The distance by which each weight moves toward 0 in a commit with η = 1, above 0. Clients that take E steps of
    /// rate r on a penalty of strength λ move it by E·r·λ.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub threshold: f64,
    /// The change of the learning rate over the commits.
    #[serde(skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

impl Default for Proximal {
    fn default() -> Self {
        Self { server_learning_rate: 1.0, threshold: 1e-4, schedule: CommitSchedule::default() }
    }
}

impl Proximal {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        expect_positive("threshold", self.threshold, faults);
        self.schedule.validate(faults);
    }
}

impl Finalizer for Proximal {
    fn state_count(&self) -> usize {
        0
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], _state: &mut [&mut [f32]]) {
        let rate = self.server_learning_rate * self.schedule.factor(commit.number);
        for (weight, delta) in weights.iter_mut().zip(mean_delta) {
            let moved = f64::from(*weight) + rate * delta;
            let left = (moved.abs() - rate * self.threshold).max(0.0);
            *weight = if left > 0.0 { to_float32(left.copysign(moved)) } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finalizer::laws::{Step, expect_steps};

    /// By hand: v = w + ½·Δ, and then by ½·0.5 toward 0.
    #[test]
    fn three_steps_by_hand() {
        let steps = [
            Step { weights: [1.0, -0.375, 0.0], state: &[] },
            Step { weights: [1.0, 0.0, 0.0], state: &[] },
            Step { weights: [0.875, 0.0, 0.0], state: &[] },
        ];
        let finalizer = Proximal { server_learning_rate: 0.5, threshold: 0.5, ..Proximal::default() };
        expect_steps(&finalizer, Commit::default(), steps);
    }
}
