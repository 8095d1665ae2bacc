use serde::{Deserialize, Serialize};

use super::{PrivacyChoice, Terms};
use crate::task::{Fault, TaskDescription};

/// Standard deviations of the noise that must have room on the grid: beyond, values are cut off.
const ROOM_DEVIATIONS: f64 = 5.0;

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

impl LocalPrivacy {
    pub(crate) fn validate(&self, description: &TaskDescription, faults: &mut Vec<Fault>) {
        let before = faults.len();
        if let Some(limits) = description.privacy.limits() {
            limits.validate(description, faults);
        }
        let value_max = f64::from(description.grid.value_max);
        if !(self.clipping_norm > 0.0 && self.clipping_norm <= value_max) {
            faults.push(Fault::new(
                "privacy.clipping_norm",
                format!("it is {}", self.clipping_norm),
                format!("it must be above 0 and at most grid.value_max, which is {value_max}"),
            ));
        }
        if faults.len() > before {
            return;
        }
        match Terms::of(description) {
            Err(fault) => faults.push(*fault),
            Ok(Some(terms)) => {
                let deviation = terms.update_multiplier * self.clipping_norm;
                if deviation * ROOM_DEVIATIONS > value_max {
                    let least = (deviation * ROOM_DEVIATIONS).ceil();
                    faults.push(Fault::new(
                        "grid.value_max",
                        format!("it is {value_max}, and the noise of a client has a standard deviation of {deviation:.3}"),
                        format!("raise it to {least} and lower grid.fraction_bits, raise epsilon, or lower the norm"),
                    ));
                }
            }
            Ok(None) => {}
        }
    }
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
