use serde::{Deserialize, Serialize};

use super::{LocalOptimizer, TrainingPlan};

/// A correction of each local gradient, against the drift of clients whose data differ: a constant that is added to all
/// gradients of a training.
///
/// With SCAFFOLD and FedDyn, the client keeps a control variate between its trainings of the task: one number for each element
/// that travels, 0 at first. Δ is what a training changed. After it, cᵢ ← −constant − scale·Δ, with the scale of
/// [`DriftCorrection::scale`]. The new one counts once the coordinator has accepted the update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DriftCorrection {
    /// The constant is c − cᵢ, where c is the assignment's control variate (Karimireddy et al. 2020, "SCAFFOLD: stochastic
    /// controlled averaging for federated learning", algorithm 1, option II). Without one, it is 0.
    Scaffold,
    /// The constant is −gᵢ (Acar et al. 2021, "Federated learning based on dynamic regularization", algorithm 1). The
    /// training's proximal term is alpha.
    FedDyn {
        /// The coefficient of the regularizer, above 0.
        alpha: f32,
    },
    /// The constant is (1 − alpha)/alpha times the assignment's control variate, which is the direction of the last version
    /// (Xu et al. 2021, "FedCM: federated learning with client-level momentum", algorithm 1). Without one, it is 0. The training's
    /// learning rate contains the factor alpha. The client keeps nothing.
    FedCm {
        /// The weight of the client's own gradient, above 0 and at most 1.
        alpha: f32,
    },
}

impl DriftCorrection {
    /// Returns the scale of a change in the new control variate, after a training of `steps` local steps. It is 1 / (steps·r)
    /// for SCAFFOLD with the local learning rate r, and alpha for FedDyn. Returns `None` if the client keeps nothing.
    pub fn scale(self, plan: &TrainingPlan, steps: u64) -> Option<f64> {
        match (self, plan.optimizer) {
            (Self::Scaffold, LocalOptimizer::Sgd { learning_rate, .. }) => {
                Some(1.0 / (steps.max(1) as f64 * f64::from(learning_rate)))
            }
            // A coordinator refuses such a task.
            (Self::Scaffold, _) => Some(0.0),
            (Self::FedDyn { alpha }, _) => Some(alpha.into()),
            (Self::FedCm { .. }, _) => None,
        }
    }

    /// Returns whether clients download a control variate with the version.
    pub fn downloads_control_variate(self) -> bool {
        !matches!(self, Self::FedDyn { .. })
    }

    /// Returns whether clients keep a control variate of their own.
    pub fn keeps_control_variate(self) -> bool {
        !matches!(self, Self::FedCm { .. })
    }
}
