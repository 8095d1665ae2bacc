//! Carries out an assignment, from the fetched blobs to the stored update.

mod chance;
mod checkpoint;
mod chunk;
mod cluster_choice;
#[cfg(not(target_family = "wasm"))]
mod evaluate;
mod evaluation;
#[cfg(not(target_family = "wasm"))]
mod example_source;
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
mod own_result;
mod own_tensors;
mod phases;
mod plan;
#[cfg(not(target_family = "wasm"))]
mod prepare;
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
use folkmoot_work::WorkError;

pub use chance::SystemChance;
pub use chunk::Chunk;
pub use cluster_choice::ClusterChoice;
pub use evaluation::Evaluation;
#[cfg(not(target_family = "wasm"))]
pub use example_source::ExampleSource;
pub use finished::FinishedWork;
#[cfg(not(target_family = "wasm"))]
pub(crate) use inputs::load_plan;
pub use inputs::{
    Inputs, parse_parts, parse_plan, parse_weights, predicting_weights, travelling, with_output,
};
#[cfg(not(target_family = "wasm"))]
pub use local_trainer::{LocalTrainer, StopSignal, TrainerError, TrainerWork};
#[cfg(not(target_family = "wasm"))]
pub(crate) use local_work::LocalWork;
pub use make::{Made, make, make_masked};
#[cfg(not(target_family = "wasm"))]
pub use model_store::{ModelStore, NewestModel};
#[cfg(not(target_family = "wasm"))]
pub(crate) use news::WorkNews;
pub use own_result::{Trained, allows_own_loop, own_outcome};
pub use own_tensors::{OwnTensors, with_own, with_personal};
pub use plan::schema_of;
#[cfg(not(target_family = "wasm"))]
pub(crate) use prepare::{prepare, prepare_masked};
#[cfg(not(target_family = "wasm"))]
pub(crate) use screen::{Screening, screen};
pub use steps::{Step, Training};
#[cfg(not(target_family = "wasm"))]
pub(crate) use work::work;

/// Keeps the error in the local log, because it may contain a label.
fn misfit(error: &FitError) -> WorkError {
    tracing::warn!(%error, "the examples do not fit the model");
    let detail = "the local examples do not fit the model and the loss; see the client's log";
    WorkError::new(AbortReason::TrainingFailed, detail)
}
