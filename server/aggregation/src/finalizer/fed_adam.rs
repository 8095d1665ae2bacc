use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    Commit, CommitSchedule, Finalizer,
    adaptive::{self, Adaptive},
    checks::{expect_decay, expect_positive, expect_tau},
};

/// FedAdam: v ← β₂·v + (1 − β₂)·Δ², the moving average of the squares.
///
/// Reddi et al. 2021, "Adaptive federated optimization", algorithm 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FedAdam {
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

impl Default for FedAdam {
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

impl FedAdam {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        expect_decay("beta1", self.beta1, faults);
        expect_decay("beta2", self.beta2, faults);
        expect_tau(self.tau, faults);
        self.schedule.validate(faults);
    }
}

impl Finalizer for FedAdam {
    fn state_count(&self) -> usize {
        adaptive::STATE_COUNT
    }

    fn initial_state(&self, slot: usize) -> f32 {
        adaptive::initial_state(slot, self.tau)
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let learning_rate = self.server_learning_rate * self.schedule.factor(commit.number);
        let step = Adaptive { learning_rate, beta1: self.beta1, tau: self.tau };
        let beta2 = self.beta2;
        step.advance(weights, mean_delta, state, |square, delta_square| {
            beta2 * square + (1.0 - beta2) * delta_square
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finalizer::laws::{Step, expect_steps};

    const ADAM_STEPS: [Step<3>; 3] = [
        Step {
            weights: [1.008199357, -0.5067737372, 0.25],
            state: &[[0.05, -0.025, 0.0], [0.002599, 0.000724, 9.9e-5]],
        },
        Step {
            weights: [1.019895254, -0.5026518176, 0.25005025],
            state: &[[0.095, 0.0275, 0.0001], [0.00507301, 0.00321676, 9.802e-5]],
        },
        Step {
            weights: [1.0328726, -0.4998814126, 0.250095588],
            state: &[[0.1105, 0.0185, 9e-5], [0.0056472799, 0.0032236549, 9.70398e-5]],
        },
    ];

    /// From a Python script: m = b1*m + (1-b1)*d; v = b2*v + (1-b2)*d*d; w += r*m/(sqrt(v)+tau), v from tau*tau.
    #[test]
    fn three_steps_by_the_algorithm() {
        expect_steps(&FedAdam { tau: 0.01, ..FedAdam::default() }, Commit::default(), ADAM_STEPS);
    }
}
