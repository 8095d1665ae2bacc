use serde::{Deserialize, Serialize};

use super::{LocalOptimizer, TrainingPlan};

/// A correction of each local gradient, against the drift of clients whose data differ: a constant that is added to all
/// gradients of a training.
///
/// With SCAFFOLD and FedDyn, the client keeps a control variate between its trainings of the task: one number for each element
/// that travels, 0 at first. Δ is what a training changed. After it, cᵢ ← −constant − scale·Δ, with the scale of
/// [`DriftCorrection::scales`]. With FedDC, the constant is a sum of two parts, each with a control variate and a scale of its own. The
/// new ones count once the coordinator has accepted the update.
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
    /// The constant is c − cᵢ − gᵢ: that of SCAFFOLD plus that of FedDyn (Gao et al. 2022, "FedDC: Federated learning with non-IID
    /// data via local drift decoupling and correction", equations 3 to 5). The local drift variable of the paper is hᵢ = −gᵢ/alpha. The
    /// training's proximal term is alpha. The assignment's control variate is c, followed by as many numbers of the coordinator's own.
    FedDc {
        /// The coefficient of the penalty, above 0.
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
    /// Returns the scale of a change in each new control variate, after a training of `steps` local steps. It is 1 / (steps·r)
    /// for SCAFFOLD with the local learning rate r, and alpha for FedDyn. Returns none if the client keeps nothing.
    pub fn scales(self, plan: &TrainingPlan, steps: u64) -> Vec<f64> {
        let of_gradient = match plan.optimizer {
            LocalOptimizer::Sgd { learning_rate, .. } => {
                1.0 / (steps.max(1) as f64 * f64::from(learning_rate))
            }
            // A coordinator refuses such a task.
            _ => 0.0,
        };
        match self {
            Self::Scaffold => vec![of_gradient],
            Self::FedDyn { alpha } => vec![alpha.into()],
            Self::FedDc { alpha } => vec![of_gradient, alpha.into()],
            Self::FedCm { .. } => Vec::new(),
        }
    }

    /// Returns whether clients download a control variate with the version.
    pub fn downloads_control_variate(self) -> bool {
        self.downloaded_values() > 0
    }

    /// Returns how many values of the finalizer's state clients download for each weight.
    pub fn downloaded_values(self) -> u64 {
        match self {
            Self::FedDyn { .. } => 0,
            Self::Scaffold | Self::FedCm { .. } => 1,
            Self::FedDc { .. } => 2,
        }
    }

    /// Returns whether clients keep a control variate of their own.
    pub fn keeps_control_variate(self) -> bool {
        !matches!(self, Self::FedCm { .. })
    }
}
