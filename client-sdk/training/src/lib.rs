#![doc = include_str!("../README.md")]

mod chance;
mod checkpoint;
mod chunk;
mod cluster_choice;
mod evaluation;
mod finished;
mod inputs;
mod make;
mod own_result;
mod own_tensors;
mod phases;
mod plan;
mod steps;
mod time_limit;
mod tuning;
mod width;

pub use chance::SystemChance;
pub use checkpoint::StoredTraining;
pub use chunk::Chunk;
pub use cluster_choice::ClusterChoice;
pub use evaluation::Evaluation;
pub use finished::FinishedWork;
use folkmoot_engine::FitError;
use folkmoot_protocol::messages::AbortReason;
pub use folkmoot_secure_aggregation::Journal;
pub use folkmoot_work::{
    Ask, Budget, ClientEvent, Consent, DeviceConditions, DeviceKey, Exchange, ExchangeNext, ExchangeOrder,
    OverBudget, WorkError, event_of, secure_setting,
};
pub use inputs::{
    Inputs, parse_parts, parse_plan, parse_weights, predicting_weights, read_weights, sent, travelling,
    with_output,
};
pub use make::{Made, make, make_masked};
pub use own_result::{Trained, allows_own_loop, own_outcome};
pub use own_tensors::{OwnTensors, constant, with_model, with_own, with_personal};
pub use plan::{check_own_loss, schema_of, update_metrics};
pub use steps::{Step, Training};
pub use tuning::{fine_tuned_weights, measured};
pub use width::{widest_fitting, width_of};

/// Keeps the error in the local log, because it may contain a label.
fn misfit(error: &FitError) -> WorkError {
    tracing::warn!(%error, "the examples do not fit the model");
    let detail = "the local examples do not fit the model and the loss; see the client's log";
    WorkError::new(AbortReason::TrainingFailed, detail)
}
