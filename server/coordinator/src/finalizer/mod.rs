//! How the aggregate changes the model.

mod fed_avg;

pub use fed_avg::FedAvg;
use serde::{Deserialize, Serialize};

use crate::task::Fault;

/// A server optimizer: the weights and the mean delta in, the next weights out.
pub trait Finalizer {
    /// Computes the next value of one parameter from its value and the mean of its deltas.
    fn next(&self, weight: f32, mean_delta: f64) -> f32;
}

/// The finalizer of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FinalizerChoice {
    /// w ← w + η·mean(Δ).
    FedAvg(FedAvg),
}

impl Default for FinalizerChoice {
    fn default() -> Self {
        FinalizerChoice::FedAvg(FedAvg::default())
    }
}

impl FinalizerChoice {
    /// Returns the finalizer.
    pub fn finalizer(&self) -> &dyn Finalizer {
        match self {
            FinalizerChoice::FedAvg(finalizer) => finalizer,
        }
    }

    pub(crate) fn validate(&self, faults: &mut Vec<Fault>) {
        match self {
            FinalizerChoice::FedAvg(finalizer) => finalizer.validate(faults),
        }
    }
}
