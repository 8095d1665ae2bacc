use serde::{Deserialize, Serialize};

use super::PrivacyChoice;

/// Local differential privacy: every client clips its update and adds discrete Gaussian noise to it before it leaves the
/// device, so who reads updates learns no more than epsilon allows. The coordinator is trusted with the plan, which says how much
/// noise there is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalPrivacy {
    /// What all updates that a client sends may reveal together. Above 0, at most 1000.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "examples" = [8.0])))]
    pub epsilon: f64,
    /// The probability mass for which epsilon need not hold: well below 1 / clients of the population.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "examples" = [1e-6])))]
    pub delta: f64,
    /// How many assignments of the task a client is given, at least 1; selection keeps to it. By default stop.rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub participations_max: Option<u64>,
    /// The L2 norm, over all tensors together, to which an update is scaled before the noise: above 0, at most
    /// `grid.value_max`.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
    pub clipping_norm: f64,
    /// The noise's standard deviation over the clipping norm, 0.01 to 1e6. By default the smallest with which as many
    /// updates as a client may send stay within epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 1e6, "examples" = [10.0])))]
    pub noise_multiplier: Option<f64>,
}

impl PrivacyChoice {
    /// Returns the terms of local differential privacy, if that is chosen.
    pub fn local(&self) -> Option<&LocalPrivacy> {
        match self {
            Self::Local(local) => Some(local),
            _ => None,
        }
    }
}
