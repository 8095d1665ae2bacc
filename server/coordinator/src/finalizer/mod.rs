//! How the aggregate changes the model.

mod adaptive;
mod checks;
mod commit;
mod fed_adagrad;
mod fed_adam;
mod fed_avg;
mod fed_avg_m;
mod fed_yogi;
#[cfg(test)]
mod laws;
mod schedule;

pub use commit::Commit;
pub use fed_adagrad::FedAdagrad;
pub use fed_adam::FedAdam;
pub use fed_avg::FedAvg;
pub use fed_avg_m::FedAvgM;
pub use fed_yogi::FedYogi;
pub use schedule::CommitSchedule;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// A server optimizer: weights, mean delta and what was kept in; the next weights and what is kept out.
///
/// It treats every parameter by itself, so a model may be advanced in tiles of any size.
pub trait Finalizer {
    /// Returns how many numbers it keeps for each parameter from commit to commit.
    fn state_count(&self) -> usize;

    /// Returns with what the kept number `slot` begins; `slot` is below [`Finalizer::state_count`].
    fn initial_state(&self, slot: usize) -> f32;

    /// Advances one tile.
    ///
    /// `weights`, `mean_delta` and each of `state` have one length; `state` has one slice for every slot, in
    /// their order. It calculates in float64 and rounds once to what is stored.
    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]);
}

/// The finalizer of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FinalizerChoice {
    /// w ← w + η·mean(Δ).
    FedAvg(FedAvg),
    /// The same with momentum.
    FedAvgM(FedAvgM),
    /// Steps scaled by the sum of all squares.
    FedAdagrad(FedAdagrad),
    /// Steps scaled by the moving average of the squares.
    FedAdam(FedAdam),
    /// Steps scaled by squares that change slowly.
    FedYogi(FedYogi),
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
            FinalizerChoice::FedAvgM(finalizer) => finalizer,
            FinalizerChoice::FedAdagrad(finalizer) => finalizer,
            FinalizerChoice::FedAdam(finalizer) => finalizer,
            FinalizerChoice::FedYogi(finalizer) => finalizer,
        }
    }

    pub(crate) fn validate(&self, faults: &mut Vec<Fault>) {
        match self {
            FinalizerChoice::FedAvg(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedAvgM(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedAdagrad(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedAdam(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedYogi(finalizer) => finalizer.validate(faults),
        }
    }
}
