use serde::{Deserialize, Serialize};

use super::Fault;

/// The rank of a task in the competition for clients with other tasks of its population.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Traffic {
    /// The task's share of the clients, relative to other tasks of the same priority.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.001, "maximum" = 1000)))]
    pub weight: f64,
    /// The priority. Tasks with a higher number come first.
    pub priority: u32,
}

/// The largest weight. The smallest weight is its inverse.
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
