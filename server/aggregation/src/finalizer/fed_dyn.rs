use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{
    Commit, Finalizer,
    checks::{expect_clients, expect_positive},
};

/// FedDyn: clients minimise their loss with a regularizer that changes from round to round, so that all of them agree at the
/// minimum of the mean loss.
///
/// Acar, Zhao, Matas Navarro, Mattina, Whatmough and Saligrama 2021, "Federated learning based on dynamic regularization",
/// algorithm 1. With S of N clients in a commit, h ← h − α·S/N·mean(Δ) and w ← w + mean(Δ) − h/α. The state of each parameter
/// is −h/α.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedDyn {
    /// The number N of clients that take part over the whole task, at least 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [100])))]
    pub clients: u64,
    /// The coefficient α of the regularizer, above 0. The paper chooses from 0.001, 0.01 and 0.1. A larger one holds clients
    /// closer to the model that they received.
    #[serde(default = "alpha")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub alpha: f32,
}

fn alpha() -> f32 {
    0.1
}

impl FedDyn {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_clients(self.clients, faults);
        expect_positive("alpha", self.alpha.into(), faults);
    }
}

impl Finalizer for FedDyn {
    fn state_count(&self) -> usize {
        1
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let share = commit.share_of(self.clients);
        for ((weight, delta), step) in weights.iter_mut().zip(mean_delta).zip(state[0].iter_mut()) {
            let next = f64::from(*step) + share * delta;
            *weight = to_float32(f64::from(*weight) + delta + next);
            *step = to_float32(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::laws::{Step, expect_steps},
        *,
    };

    /// The numbers come from these lines, with numpy 2.4.6, in which 3 of 4 clients take part and α = 0.1:
    ///
    /// ```python
    /// w = np.array([1.0, -0.5, 0.25]); h = np.zeros(3)
    /// for d in ([0.5, -0.25, 0], [0.5, 0.5, 0.001], [0.25, -0.0625, 0]):
    ///     d = np.array(d); h = h - 0.1 * 3 / 4 * d; w = w + d - h / 0.1; print(w, -h / 0.1)
    /// ```
    #[test]
    fn three_steps() {
        let commit = Commit { updates: 3, ..Commit::default() };
        let steps = [
            Step { weights: [1.875, -0.9375, 0.25], state: &[[0.375, -0.1875, 0.0]] },
            Step { weights: [3.125, -0.25, 0.25175], state: &[[0.75, 0.1875, 0.00075]] },
            Step { weights: [4.3125, -0.171875, 0.2525], state: &[[0.9375, 0.140625, 0.00075]] },
        ];
        expect_steps(&FedDyn { clients: 4, alpha: 0.1 }, commit, steps);
    }
}
