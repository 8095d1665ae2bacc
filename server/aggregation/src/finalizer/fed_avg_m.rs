use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{
    Commit, CommitSchedule, Finalizer,
    checks::{expect_momentum, expect_positive},
};

/// Federated averaging with server momentum: v ← β·v + mean(Δ), w ← w + η·v.
///
/// Hsu, Qi and Brown 2019, "Measuring the effects of non-identical data distribution for federated visual
/// classification" (FedAvgM). With `nesterov` the step looks ahead: w ← w + η·(β·v + mean(Δ)), with the new v.
/// The state of each parameter is v.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FedAvgM {
    /// The server's learning rate η, above 0. With momentum, the step for a constant delta grows over many commits to
    /// η / (1 − β) times the delta.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The momentum β, in (-1, 1). A negative value reverts part of the last step. That helps with stale updates,
    /// because staleness itself acts like a positive momentum.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = -1, "exclusiveMaximum" = 1)))]
    pub momentum: f64,
    /// Whether the step uses Nesterov's look-ahead.
    pub nesterov: bool,
    /// Whether β is lowered by the implicit momentum of staleness.
    ///
    /// A mean staleness s acts as if s + 1 clients worked at once, which is a momentum of 1 − 1/(s + 1)
    /// (Mitliagkas et al. 2016, "Asynchrony begets momentum, with an application to deep learning"). The
    /// correction subtracts it from β, down to -0.9. The result is negative if the implicit momentum exceeds β
    /// (Hadjis et al. 2016, "Omnivore: an optimizer for multi-device deep learning on CPUs and GPUs"). Without
    /// staleness nothing changes.
    pub momentum_correction: bool,
    /// The change of the learning rate over the commits.
    #[serde(skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

/// The lowest momentum that the correction for staleness may set. The variance of the velocity is 1 / (1 − β²) times
/// that of a single delta: at -0.9, about five times.
const CORRECTED_MIN: f64 = -0.9;

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
        expect_momentum("momentum", self.momentum, faults);
        self.schedule.validate(faults);
    }

    /// Returns the β of one commit, corrected for staleness if that is enabled.
    fn explicit_momentum(&self, mean_staleness: f64) -> f64 {
        if !self.momentum_correction {
            return self.momentum;
        }
        let implicit = 1.0 - 1.0 / (1.0 + mean_staleness.max(0.0));
        (self.momentum - implicit).max(self.momentum.min(CORRECTED_MIN))
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
            *weight = to_float32(f64::from(*weight) + rate * step);
            *velocity = to_float32(next);
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

    const NEGATIVE_STEPS: [Step<3>; 3] = [
        Step { weights: [1.25, -0.625, 0.25], state: &[[0.5, -0.25, 0.0]] },
        Step { weights: [1.375, -0.3125, 0.2505], state: &[[0.25, 0.625, 0.001]] },
        Step { weights: [1.4375, -0.5, 0.25025], state: &[[0.125, -0.375, -0.0005]] },
    ];

    // The expected numbers come from a Python script: v = b·v + d, then w += r·v. With Nesterov momentum, the second
    // step is w += r·(b·v + d).

    #[test]
    fn three_steps_with_momentum() {
        let finalizer = FedAvgM { server_learning_rate: 0.5, ..FedAvgM::default() };
        expect_steps(&finalizer, Commit::default(), MOMENTUM_STEPS);
    }

    #[test]
    fn three_steps_with_nesterov() {
        let finalizer = FedAvgM { server_learning_rate: 0.5, nesterov: true, ..FedAvgM::default() };
        expect_steps(&finalizer, Commit::default(), NESTEROV_STEPS);
    }

    #[test]
    fn three_steps_with_a_negative_momentum() {
        let finalizer = FedAvgM { server_learning_rate: 0.5, momentum: -0.5, ..FedAvgM::default() };
        let mut faults = Vec::new();
        finalizer.validate(&mut faults);
        assert_eq!(faults, []);
        expect_steps(&finalizer, Commit::default(), NEGATIVE_STEPS);
    }

    /// Returns the largest remaining distance from the minimum of w²/2 after 200 commits with gradients of mean
    /// staleness 9. With geometric staleness, the mean over clients is a moving average (Mitliagkas et al. 2016).
    fn left_after_stale_commits(finalizer: &FedAvgM) -> f32 {
        let mean_staleness = 9.0;
        let share = 1.0 / (1.0 + mean_staleness);
        let (mut weights, mut velocities, mut gradient, mut furthest) = ([1.0f32], [0.0f32], 0.0, 0.0f32);
        for number in 1..=200 {
            gradient += share * (f64::from(weights[0]) - gradient);
            let commit = Commit { number, mean_staleness, ..Commit::default() };
            finalizer.advance(&commit, &mut weights, &[-2.0 * gradient], &mut [&mut velocities]);
            // The weight oscillates: take the largest distance over the last 40 commits.
            furthest = if number > 160 { furthest.max(weights[0].abs()) } else { 0.0 };
        }
        furthest
    }

    #[test]
    fn a_negative_momentum_takes_off_what_staleness_brings() {
        let with = |momentum| FedAvgM { momentum, ..FedAvgM::default() };
        let target = with(0.4);
        let corrected = FedAvgM { momentum_correction: true, ..target };
        let [uncorrected, none, negative] =
            [target, with(0.0), corrected].map(|one| left_after_stale_commits(&one));
        assert!(uncorrected > 1.0, "{uncorrected}");
        assert!(
            negative < 1e-5 && none > 10.0 * negative,
            "{none} without momentum, {negative} with a negative one"
        );
    }

    #[test]
    fn staleness_lowers_the_momentum_only_where_it_is_asked_for() {
        let plain = FedAvgM { server_learning_rate: 0.5, ..FedAvgM::default() };
        let stale = Commit { mean_staleness: 1.5, ..Commit::default() };
        expect_steps(&plain, stale, MOMENTUM_STEPS);
        let corrected = FedAvgM { momentum_correction: true, ..plain };
        expect_steps(&corrected, Commit::default(), MOMENTUM_STEPS);
        // The implicit momentum of a staleness of 1.5 is 0.6. Subtracted from 0.9, it leaves 0.3.
        expect_steps(&corrected, stale, CORRECTED_STEPS);
        // The implicit momentum of a staleness of 19 is 0.95, which exceeds 0.9.
        assert!((corrected.explicit_momentum(19.0) + 0.05).abs() < 1e-12);
        // If β is 0, the correction makes it negative, down to -0.9. A β below -0.9 stays unchanged.
        let without = FedAvgM { momentum: 0.0, ..corrected };
        assert_eq!([3.0, 1e9].map(|staleness| without.explicit_momentum(staleness)), [-0.75, -0.9]);
        let below = FedAvgM { momentum: -0.95, ..corrected };
        assert_eq!([0.0, 1e9].map(|staleness| below.explicit_momentum(staleness)), [-0.95; 2]);
        assert_eq!([f64::NAN, -1.0].map(|staleness| corrected.explicit_momentum(staleness)), [0.9; 2]);
    }
}
