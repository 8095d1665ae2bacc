use serde::{Deserialize, Serialize};

use super::Finalizer;
use crate::task::Fault;

/// Federated averaging: w ← w + η·mean(Δ), with η = 1 as in McMahan et al. 2017, algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FedAvg {
    /// The server's learning rate η, above 0.
    pub server_learning_rate: f64,
}

impl Default for FedAvg {
    fn default() -> Self {
        Self { server_learning_rate: 1.0 }
    }
}

impl FedAvg {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        let rate = self.server_learning_rate;
        if !rate.is_finite() || rate <= 0.0 {
            faults.push(Fault::new(
                "finalizer.server_learning_rate",
                format!("it is {rate}"),
                "it must be above 0",
            ));
        }
    }
}

impl Finalizer for FedAvg {
    fn next(&self, weight: f32, mean_delta: f64) -> f32 {
        (f64::from(weight) + self.server_learning_rate * mean_delta) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_delta_is_added() {
        assert_eq!(FedAvg::default().next(1.0, 0.25), 1.25);
        assert_eq!(FedAvg { server_learning_rate: 0.5 }.next(1.0, 0.25), 1.125);
    }
}
