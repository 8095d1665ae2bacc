use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{
    Commit, Finalizer,
    checks::{expect_clients, expect_positive},
};

/// FedDC: each client keeps its drift from the shared model, and trains against this drift, with the control variates
/// of SCAFFOLD.
///
/// Gao, Fu, Li, Chen, Xu and Xu 2022, "FedDC: Federated learning with non-IID data via local drift decoupling and correction",
/// algorithm 1. A client's drift is the sum of its changes, hᵢ ← hᵢ + Δᵢ, so the mean of all drifts follows from the updates, which
/// need not contain them: with S of N clients in a commit, h ← h + S/N·mean(Δ) and w ← w + mean(Δ) + h, as in the authors' code. If
/// all clients take part, this is the mean of θᵢ + hᵢ of the algorithm. The mean of all control variates is that of SCAFFOLD:
/// c ← c + S/N·(−c − mean(Δ)/(K·r)), for K local steps of learning rate r.
///
/// The state of each parameter is c, and then h.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedDc {
    /// The number N of clients that take part over the whole task, at least 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [100])))]
    pub clients: u64,
    /// The coefficient α of the penalty for a model that differs from the shared one and its drift, above 0. The paper uses 0.005
    /// to 0.1.
    #[serde(default = "alpha")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub alpha: f32,
}

fn alpha() -> f32 {
    0.01
}

impl FedDc {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_clients(self.clients, faults);
        expect_positive("alpha", self.alpha.into(), faults);
    }
}

impl Finalizer for FedDc {
    fn state_count(&self) -> usize {
        2
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let share = commit.share_of(self.clients);
        let [controls, drifts] = state else { return };
        let kept = controls.iter_mut().zip(drifts.iter_mut());
        for ((weight, delta), (control, drift)) in weights.iter_mut().zip(mean_delta).zip(kept) {
            let (before, next) = (f64::from(*control), f64::from(*drift) + share * delta);
            *weight = to_float32(f64::from(*weight) + delta + next);
            *control = to_float32(before + share * (-before - delta / commit.local_rate_sum));
            *drift = to_float32(next);
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
    /// w = np.array([1.0, -0.5, 0.25]); c = np.zeros(3); h = np.zeros(3)
    /// for d in ([0.5, -0.25, 0], [0.5, 0.5, 0.001], [0.25, -0.0625, 0]):
    ///     d = np.array(d); c = c + 3 / 4 * (-c - d / 0.5); h = h + 3 / 4 * d; w = w + d + h; print(w, c, h)
    /// ```
    #[test]
    fn three_steps() {
        let commit = Commit { updates: 3, local_rate_sum: 0.5, ..Commit::default() };
        let steps = [
            Step { weights: [1.875, -0.9375, 0.25], state: &[[-0.75, 0.375, 0.0], [0.375, -0.1875, 0.0]] },
            Step {
                weights: [3.125, -0.25, 0.25175],
                state: &[[-0.9375, -0.65625, -0.0015], [0.75, 0.1875, 0.00075]],
            },
            Step {
                weights: [4.3125, -0.171875, 0.2525],
                state: &[[-0.609375, -0.0703125, -0.000375], [0.9375, 0.140625, 0.00075]],
            },
        ];
        expect_steps(&FedDc { clients: 4, alpha: 0.1 }, commit, steps);
    }
}
