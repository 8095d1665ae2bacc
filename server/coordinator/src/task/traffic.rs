use serde::{Deserialize, Serialize};

use super::Fault;

/// What a task gets of the clients for which several tasks of one population compete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Traffic {
    /// Its share of the clients, against those of the other tasks of the same priority.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.001, "maximum" = 1000)))]
    pub weight: f64,
    /// A task of a higher priority comes first.
    pub priority: u32,
}

/// The largest weight, and the inverse of the smallest.
const WEIGHT_MAX: f64 = 1000.0;

impl Default for Traffic {
    fn default() -> Self {
        Self { weight: 1.0, priority: 0 }
    }
}

impl Traffic {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        if !(1.0 / WEIGHT_MAX..=WEIGHT_MAX).contains(&self.weight) {
            let message = format!("it is {}", self.weight);
            faults.push(Fault::new("traffic.weight", message, "it must be 0.001 to 1000"));
        }
    }
}
