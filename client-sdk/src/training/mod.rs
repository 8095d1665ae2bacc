//! The work itself: from the fetched blobs to the stored update.

mod chance;
mod checkpoint;
mod chunk;
#[cfg(not(target_family = "wasm"))]
mod evaluate;
mod evaluation;
mod finished;
mod inputs;
#[cfg(not(target_family = "wasm"))]
mod local_trainer;
#[cfg(not(target_family = "wasm"))]
mod local_work;
mod make;
#[cfg(not(target_family = "wasm"))]
mod model_store;
#[cfg(not(target_family = "wasm"))]
mod news;
#[cfg(not(target_family = "wasm"))]
mod own_loop;
mod plan;
#[cfg(not(target_family = "wasm"))]
mod prepare;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(not(target_family = "wasm"))]
mod screen;
mod steps;
#[cfg(test)]
mod tests;
mod time_limit;
#[cfg(not(target_family = "wasm"))]
mod train;
#[cfg(not(target_family = "wasm"))]
mod work;

use folkmoot_engine::FitError;
use folkmoot_protocol::messages::AbortReason;

use crate::OverBudget;
pub use chance::SystemChance;
pub use chunk::Chunk;
pub use evaluation::Evaluation;
pub use finished::FinishedWork;
pub use inputs::{Inputs, parse_parts, parse_plan, parse_weights, trained_part};
#[cfg(not(target_family = "wasm"))]
pub use local_trainer::{LocalTrainer, StopSignal, Trained, TrainerError, TrainerWork};
#[cfg(not(target_family = "wasm"))]
pub(crate) use local_work::LocalWork;
pub use make::{Made, make};
#[cfg(not(target_family = "wasm"))]
pub use model_store::{ModelStore, NewestModel};
#[cfg(not(target_family = "wasm"))]
pub(crate) use news::WorkNews;
pub use plan::schema_of;
#[cfg(not(target_family = "wasm"))]
pub(crate) use prepare::prepare;
#[cfg(not(target_family = "wasm"))]
pub(crate) use screen::{Screening, screen};
pub use steps::{Step, Training};
#[cfg(not(target_family = "wasm"))]
pub(crate) use work::work;

/// Work that cannot be done: what the coordinator is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkError {
    /// Why.
    pub reason: AbortReason,
    /// More for humans; never data of the user's.
    pub detail: String,
    /// The limit of the app's that it passed. It is for the app's user and is never sent.
    pub over_budget: Option<OverBudget>,
}

impl WorkError {
    /// Says why, and what there is to say to humans.
    pub fn new(reason: AbortReason, detail: impl ToString) -> Self {
        Self { reason, detail: detail.to_string(), over_budget: None }
    }

    /// An assignment that the device does not take. Whatever the cause is, it is told in the same words: none.
    pub fn declined() -> Self {
        Self::new(AbortReason::Declined, "")
    }
}

impl From<OverBudget> for WorkError {
    /// Sends no more than any other refusal.
    fn from(over: OverBudget) -> Self {
        Self { over_budget: Some(over), ..Self::declined() }
    }
}

/// What does not fit may name a label: that stays in the local log.
fn misfit(error: &FitError) -> WorkError {
    tracing::warn!(%error, "the examples do not fit the model");
    let detail = "the local examples do not fit the model and the loss; the client's log says how";
    WorkError::new(AbortReason::TrainingFailed, detail)
}
