use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    Commit, CommitSchedule, Finalizer,
    adaptive::{self, Adaptive},
    checks::{expect_decay, expect_positive, expect_tau},
};

/// FedAdagrad: v ← v + Δ². A parameter's steps shrink with the sum of all its squared deltas.
///
/// Reddi et al. 2021, "Adaptive federated optimization", algorithm 2. It suits sparse deltas, such as those of
/// embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FedAdagrad {
    /// The server's learning rate η, above 0. 0.1 is in the middle of the paper's tuning range.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The decay β₁ of the momentum, in [0, 1). 0, the paper's value, disables momentum.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
    pub beta1: f64,
    /// The adaptivity τ, above 0. It bounds the step while squares are small; √v starts at τ.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1e-12, "maximum" = 1e6)))]
    pub tau: f64,
    /// The change of the learning rate over the commits.
    #[serde(skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

impl Default for FedAdagrad {
    fn default() -> Self {
        Self { server_learning_rate: 0.1, beta1: 0.0, tau: 1e-3, schedule: CommitSchedule::default() }
    }
}

impl FedAdagrad {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        expect_decay("beta1", self.beta1, faults);
        expect_tau(self.tau, faults);
        self.schedule.validate(faults);
    }
}

impl Finalizer for FedAdagrad {
    fn state_count(&self) -> usize {
        adaptive::STATE_COUNT
    }

    fn initial_state(&self, slot: usize) -> f32 {
        adaptive::initial_state(slot, self.tau)
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let learning_rate = self.server_learning_rate * self.schedule.factor(commit.number);
        let step = Adaptive { learning_rate, beta1: self.beta1, tau: self.tau };
        step.advance(weights, mean_delta, state, |square, delta_square| square + delta_square);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finalizer::laws::{Step, expect_steps};

    const ADAGRAD_STEPS: [Step<3>; 3] = [
        Step {
            weights: [1.098019998, -0.596079968, 0.25],
            state: &[[0.5, -0.25, 0.0], [0.2501, 0.0626, 0.0001]],
        },
        Step {
            weights: [1.167737747, -0.5082229392, 0.2549875621],
            state: &[[0.5, 0.5, 0.001], [0.5001, 0.3126, 0.000101]],
        },
        Step {
            weights: [1.200629599, -0.5191382752, 0.2549875621],
            state: &[[0.25, -0.0625, 0.0], [0.5626, 0.31650625, 0.000101]],
        },
    ];

    const ADAGRAD_MOMENTUM_STEPS: [Step<3>; 3] = [
        Step {
            weights: [1.009802, -0.5096079968, 0.25],
            state: &[[0.05, -0.025, 0.0], [0.2501, 0.0626, 0.0001]],
        },
        Step {
            weights: [1.023048372, -0.5047758602, 0.2504987562],
            state: &[[0.095, 0.0275, 0.0001], [0.5001, 0.3126, 0.000101]],
        },
        Step {
            weights: [1.037586571, -0.5015449208, 0.2509476368],
            state: &[[0.1105, 0.0185, 9e-5], [0.5626, 0.31650625, 0.000101]],
        },
    ];

    /// From a Python script: m = b1*m + (1-b1)*d; v = v + d*d; w += r*m/(sqrt(v)+tau), v from tau*tau.
    #[test]
    fn three_steps_by_the_algorithm() {
        let finalizer = FedAdagrad { tau: 0.01, ..FedAdagrad::default() };
        expect_steps(&finalizer, Commit::default(), ADAGRAD_STEPS);
        expect_steps(&FedAdagrad { beta1: 0.9, ..finalizer }, Commit::default(), ADAGRAD_MOMENTUM_STEPS);
    }
}
