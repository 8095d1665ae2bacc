use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    Commit, CommitSchedule, Finalizer,
    adaptive::{self, Adaptive},
    checks::{expect_decay, expect_positive, expect_tau},
};

/// FedYogi: v ← v − (1 − β₂)·Δ²·sign(v − Δ²). One commit changes v by at most a fixed share of the new square.
///
/// Reddi et al. 2021, "Adaptive federated optimization", algorithm 2. After small deltas, v decreases more slowly
/// than in FedAdam, so steps do not grow suddenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FedYogi {
    /// The server's learning rate η, above 0. 0.01 is a value from the paper's tuning range.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The decay β₁ of the momentum, in [0, 1).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
    pub beta1: f64,
    /// The decay β₂ of the squares, in [0, 1).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
    pub beta2: f64,
    /// The adaptivity τ, above 0. It bounds the step while squares are small; √v starts at τ.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1e-12, "maximum" = 1e6)))]
    pub tau: f64,
    /// The change of the learning rate over the commits.
    #[serde(skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

impl Default for FedYogi {
    fn default() -> Self {
        Self {
            server_learning_rate: 0.01,
            beta1: 0.9,
            beta2: 0.99,
            tau: 1e-3,
            schedule: CommitSchedule::default(),
        }
    }
}

impl FedYogi {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        expect_decay("beta1", self.beta1, faults);
        expect_decay("beta2", self.beta2, faults);
        expect_tau(self.tau, faults);
        self.schedule.validate(faults);
    }
}

impl Finalizer for FedYogi {
    fn state_count(&self) -> usize {
        adaptive::STATE_COUNT
    }

    fn initial_state(&self, slot: usize) -> f32 {
        adaptive::initial_state(slot, self.tau)
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let learning_rate = self.server_learning_rate * self.schedule.factor(commit.number);
        let step = Adaptive { learning_rate, beta1: self.beta1, tau: self.tau };
        let change = 1.0 - self.beta2;
        step.advance(weights, mean_delta, state, |square, delta_square| {
            square - change * delta_square * sign(square - delta_square)
        });
    }
}

/// Returns the sign, with sign(0) = 0. The standard library's `signum(0.0)` is 1.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finalizer::laws::{Step, expect_steps};

    const YOGI_STEPS: [Step<3>; 3] = [
        Step {
            weights: [1.008198039, -0.5067703296, 0.25],
            state: &[[0.05, -0.025, 0.0], [0.0026, 0.000725, 0.0001]],
        },
        Step {
            weights: [1.019866753, -0.5026528903, 0.2500500013],
            state: &[[0.095, 0.0275, 0.0001], [0.0051, 0.003225, 9.999e-5]],
        },
        Step {
            weights: [1.032766028, -0.4998971245, 0.2500950024],
            state: &[[0.1105, 0.0185, 9e-5], [0.005725, 0.0032640625, 9.999e-5]],
        },
    ];

    /// From a Python script: m = b1*m + (1-b1)*d; v = v - (1-b2)*d*d*sign(v-d*d); w += r*m/(sqrt(v)+tau), v from
    /// tau*tau.
    #[test]
    fn three_steps_by_the_algorithm() {
        expect_steps(&FedYogi { tau: 0.01, ..FedYogi::default() }, Commit::default(), YOGI_STEPS);
    }

    #[test]
    fn an_equal_square_changes_nothing() {
        assert_eq!([-0.5, -0.0, 0.0, 2.0].map(sign), [-1.0, 0.0, 0.0, 1.0]);
    }
}
