use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{
    Commit, CommitSchedule, Finalizer,
    checks::{expect_clients, expect_positive},
};

/// SCAFFOLD: w ← w + η·mean(Δ), with control variates against the drift of clients whose data differ.
///
/// Karimireddy, Kale, Mohri, Reddi, Stich and Suresh 2020, "SCAFFOLD: stochastic controlled averaging for federated
/// learning", algorithm 1 with option II. A client that makes K local steps of learning rate r has the new
/// control variate cᵢ − c − Δᵢ/(K·r), so its change follows from its update, which need not contain it. With S of N clients in a
/// commit, the mean of all control variates becomes c ← c + S/N·(−c − mean(Δ)/(K·r)). If clients make different numbers of steps, K is
/// their mean, and a client counts in c as much as in the aggregate, by its steps.
///
/// The state of each parameter is c.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scaffold {
    /// The number N of clients that take part over the whole task, at least 1. A number that is too small makes c follow the
    /// clients of the last rounds.
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [100])))]
    pub clients: u64,
    /// The server's learning rate η, above 0.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The change of the learning rate over the commits.
    #[serde(default, skip_serializing_if = "CommitSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = { "warmup_commits": 0, "learning_rate_schedule": "constant" })))]
    pub schedule: CommitSchedule,
}

fn one() -> f64 {
    1.0
}

impl Scaffold {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_clients(self.clients, faults);
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        self.schedule.validate(faults);
    }
}

impl Finalizer for Scaffold {
    fn state_count(&self) -> usize {
        1
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let rate = self.server_learning_rate * self.schedule.factor(commit.number);
        let share = commit.share_of(self.clients);
        for ((weight, delta), control) in weights.iter_mut().zip(mean_delta).zip(state[0].iter_mut()) {
            *weight = to_float32(f64::from(*weight) + rate * delta);
            let before = f64::from(*control);
            *control = to_float32(before + share * (-before - delta / commit.local_rate_sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::laws::{Step, expect_steps},
        *,
    };

    /// The numbers come from these lines, with numpy 2.4.6, in which 3 of 4 clients take part and K·r = 0.5:
    ///
    /// ```python
    /// w = np.array([1.0, -0.5, 0.25]); c = np.zeros(3)
    /// for d in ([0.5, -0.25, 0], [0.5, 0.5, 0.001], [0.25, -0.0625, 0]):
    ///     d = np.array(d); w = w + 0.5 * d; c = c + 3 / 4 * (-c - d / 0.5); print(w, c)
    /// ```
    #[test]
    fn three_steps() {
        let scaffold =
            Scaffold { clients: 4, server_learning_rate: 0.5, schedule: CommitSchedule::default() };
        let commit = Commit { updates: 3, local_rate_sum: 0.5, ..Commit::default() };
        let steps = [
            Step { weights: [1.25, -0.625, 0.25], state: &[[-0.75, 0.375, 0.0]] },
            Step { weights: [1.5, -0.375, 0.2505], state: &[[-0.9375, -0.65625, -0.0015]] },
            Step { weights: [1.625, -0.40625, 0.2505], state: &[[-0.609375, -0.0703125, -0.000375]] },
        ];
        expect_steps(&scaffold, commit, steps);
    }
}
