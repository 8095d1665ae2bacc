use serde::{Deserialize, Serialize};

use super::PrivacyChoice;

/// Distributed differential privacy. Every client clips its update, adds a share of the noise and masks the result, so that
/// the coordinator sees only the sum, with the noise of all clients. Needs `protection.secure_aggregation` (Kairouz, Liu and
/// Steinke 2021, "The distributed discrete Gaussian mechanism for federated learning with secure aggregation").
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DistributedPrivacy {
    /// The privacy budget for all sums that contain updates of one client: above 0, at most 1000.
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
    /// The standard deviation of the noise on the smallest sum, divided by the clipping norm: 0.01 to 1e6. The default
    /// is the smallest value that keeps all of a client's updates within epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 1e6, "examples" = [1.0])))]
    pub noise_multiplier: Option<f64>,
}

impl PrivacyChoice {
    /// Returns the terms of distributed differential privacy, if it is chosen.
    pub fn distributed(&self) -> Option<&DistributedPrivacy> {
        match self {
            Self::Distributed(distributed) => Some(distributed),
            _ => None,
        }
    }

    /// Returns whether clients add the noise. Then a client's updates are charged before the first one arrives, because the
    /// coordinator sees them, or sums of them, whether or not it makes a version.
    pub fn is_added_by_clients(&self) -> bool {
        matches!(self, Self::Local(_) | Self::Distributed(_))
    }
}
