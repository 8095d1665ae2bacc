use serde::{Deserialize, Serialize};

use super::{
    Commit, CommitSchedule, Finalizer,
    checks::{expect_decay, expect_positive},
};
use crate::task::Fault;

/// Federated averaging with server momentum: v ← β·v + mean(Δ), w ← w + η·v.
///
/// Hsu, Qi and Brown 2019, "Measuring the effects of non-identical data distribution for federated visual
/// classification" (FedAvgM). With `nesterov` the step looks ahead: w ← w + η·(β·v + mean(Δ)), with the new v.
/// Kept for each parameter: v.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FedAvgM {
    /// The server's learning rate η, above 0. Over many commits a steady delta counts η / (1 − β) times.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The momentum β, in [0, 1).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
    pub momentum: f64,
    /// Whether the step looks ahead along the new momentum.
    pub nesterov: bool,
    /// Whether β is lowered by the momentum that staleness brings by itself.
    ///
    /// With a mean staleness s it is as if s + 1 clients worked at once, which acts like a momentum of
    /// 1 − 1/(s + 1) (Mitliagkas et al. 2016, "Asynchrony begets momentum, with an application to deep learning").
    /// The explicit part is tuned down by it, to 0 at least (Hadjis et al. 2016, "Omnivore: an
    /// optimizer for multi-device deep learning on CPUs and GPUs"). Without staleness nothing changes.
    pub momentum_correction: bool,
    /// How the learning rate changes over the commits.
    #[serde(skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

impl Default for FedAvgM {
    fn default() -> Self {
        Self {
            server_learning_rate: 1.0,
            momentum: 0.9,
            nesterov: false,
            momentum_correction: false,
            schedule: CommitSchedule::default(),
        }
    }
}

impl FedAvgM {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        expect_decay("momentum", self.momentum, faults);
        self.schedule.validate(faults);
    }

    /// Returns the β of one commit.
    fn explicit_momentum(&self, mean_staleness: f64) -> f64 {
        if !self.momentum_correction {
            return self.momentum;
        }
        let implicit = 1.0 - 1.0 / (1.0 + mean_staleness.max(0.0));
        (self.momentum - implicit).max(0.0)
    }
}

impl Finalizer for FedAvgM {
    fn state_count(&self) -> usize {
        1
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let [velocities] = state else { unreachable!("FedAvgM keeps 1 number for each parameter") };
        let rate = self.server_learning_rate * self.schedule.factor(commit.number);
        let momentum = self.explicit_momentum(commit.mean_staleness);
        for ((weight, velocity), &delta) in weights.iter_mut().zip(velocities.iter_mut()).zip(mean_delta) {
            let next = momentum * f64::from(*velocity) + delta;
            let step = if self.nesterov { momentum * next + delta } else { next };
            *weight = (f64::from(*weight) + rate * step) as f32;
            *velocity = next as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finalizer::laws::{Step, expect_steps};

    const MOMENTUM_STEPS: [Step<3>; 3] = [
        Step { weights: [1.25, -0.625, 0.25], state: &[[0.5, -0.25, 0.0]] },
        Step { weights: [1.725, -0.4875, 0.2505], state: &[[0.95, 0.275, 0.001]] },
        Step { weights: [2.2775, -0.395, 0.25095], state: &[[1.105, 0.185, 0.0009]] },
    ];

    const NESTEROV_STEPS: [Step<3>; 3] = [
        Step { weights: [1.475, -0.7375, 0.25], state: &[[0.5, -0.25, 0.0]] },
        Step { weights: [2.1525, -0.36375, 0.25095], state: &[[0.95, 0.275, 0.001]] },
        Step { weights: [2.77475, -0.31175, 0.251355], state: &[[1.105, 0.185, 0.0009]] },
    ];

    const CORRECTED_STEPS: [Step<3>; 3] = [
        Step { weights: [1.25, -0.625, 0.25], state: &[[0.5, -0.25, 0.0]] },
        Step { weights: [1.575, -0.4125, 0.2505], state: &[[0.65, 0.425, 0.001]] },
        Step { weights: [1.7975, -0.38, 0.25065], state: &[[0.445, 0.065, 0.0003]] },
    ];

    // The numbers of these tests: v = b·v + d; w += r·v, or w += r·(b·v + d), in a Python script.

    #[test]
    fn three_steps_with_momentum() {
        let finalizer = FedAvgM { server_learning_rate: 0.5, ..FedAvgM::default() };
        expect_steps(&finalizer, 0.0, MOMENTUM_STEPS);
    }

    #[test]
    fn three_steps_with_nesterov() {
        let finalizer = FedAvgM { server_learning_rate: 0.5, nesterov: true, ..FedAvgM::default() };
        expect_steps(&finalizer, 0.0, NESTEROV_STEPS);
    }

    #[test]
    fn staleness_lowers_the_momentum_only_where_it_is_asked_for() {
        let plain = FedAvgM { server_learning_rate: 0.5, ..FedAvgM::default() };
        expect_steps(&plain, 1.5, MOMENTUM_STEPS);
        let corrected = FedAvgM { momentum_correction: true, ..plain };
        expect_steps(&corrected, 0.0, MOMENTUM_STEPS);
        // The implicit momentum of a staleness of 1.5 is 0.6, so 0.3 is left.
        expect_steps(&corrected, 1.5, CORRECTED_STEPS);
        // That of a staleness of 19 is 0.95: more than 0.9, and nothing is left.
        assert_eq!(corrected.explicit_momentum(19.0), 0.0);
        assert_eq!([f64::NAN, -1.0].map(|staleness| corrected.explicit_momentum(staleness)), [0.9; 2]);
    }
}
