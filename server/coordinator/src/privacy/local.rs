use serde::{Deserialize, Serialize};

use super::PrivacyChoice;

/// Local differential privacy. Every client clips its update and adds discrete Gaussian noise before the update
/// leaves the device. Anyone who reads updates learns no more than epsilon allows. The plan sets the amount of
/// noise, so clients must trust the coordinator with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalPrivacy {
    /// The privacy budget for all updates of one client together: above 0, at most 1000.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "examples" = [8.0])))]
    pub epsilon: f64,
    /// The probability with which epsilon may fail to hold: well below 1 / clients of the population.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "examples" = [1e-6])))]
    pub delta: f64,
    /// The number of assignments that a client may get in this task: at least 1. Selection enforces it. The
    /// default is stop.rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub participations_max: Option<u64>,
    /// The L2 norm, over all tensors together, to which an update is scaled before the noise: above 0, at most
    /// `grid.value_max`.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
    pub clipping_norm: f64,
    /// The standard deviation of the noise divided by the clipping norm: 0.01 to 1e6. The default is the smallest
    /// value that keeps all of a client's updates within epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 1e6, "examples" = [10.0])))]
    pub noise_multiplier: Option<f64>,
}

impl PrivacyChoice {
    /// Returns the terms of local differential privacy, if it is chosen.
    pub fn local(&self) -> Option<&LocalPrivacy> {
        match self {
            Self::Local(local) => Some(local),
            _ => None,
        }
    }
}
