//! Carries out an assignment, from the fetched blobs to the stored update.

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

/// Work that failed, as reported to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkError {
    /// The reason.
    pub reason: AbortReason,
    /// Details for people to read. Never contains the user's data.
    pub detail: String,
    /// The app's limit that was exceeded. It is for the app's user and is never sent.
    pub over_budget: Option<OverBudget>,
}

impl WorkError {
    /// Creates an error from a reason and details for people to read.
    pub fn new(reason: AbortReason, detail: impl ToString) -> Self {
        Self { reason, detail: detail.to_string(), over_budget: None }
    }

    /// The error of a declined assignment. The detail is always empty, so that it does not reveal the cause.
    pub fn declined() -> Self {
        Self::new(AbortReason::Declined, "")
    }
}

impl From<OverBudget> for WorkError {
    /// Converts the error to a declined assignment. The coordinator cannot distinguish it from any other declined
    /// assignment.
    fn from(over: OverBudget) -> Self {
        Self { over_budget: Some(over), ..Self::declined() }
    }
}

/// Keeps the error in the local log, because it may contain a label.
fn misfit(error: &FitError) -> WorkError {
    tracing::warn!(%error, "the examples do not fit the model");
    let detail = "the local examples do not fit the model and the loss; see the client's log";
    WorkError::new(AbortReason::TrainingFailed, detail)
}
