use folkmoot_engine::ExamplesError;
use folkmoot_rounds::{coordinator::ForgetError, drivers::DriveError, refusal::Refusal};
use folkmoot_storage::{RoundLogError, StorageError};

use crate::{
    InvalidSettingsError, attack::AttackError, partition::PartitionError, synthetic::SyntheticError,
};

/// Why a simulation cannot run, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// Settings out of their range.
    #[error(transparent)]
    Settings(#[from] InvalidSettingsError),
    /// The task or the model is refused; the text lists every fault.
    #[error("{0}")]
    Task(Refusal),
    /// The data cannot be read.
    #[error("{0}")]
    Data(String),
    /// The data cannot be dealt out.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The data cannot be made.
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
    /// Examples that do not go together.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// An attack does not go with the data.
    #[error(transparent)]
    Attack(#[from] AttackError),
    /// A step of the coordinator failed.
    #[error("the coordinator failed: {0}")]
    Drive(#[from] DriveError),
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The round log failed.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// Old logs cannot be removed.
    #[error(transparent)]
    Forget(#[from] ForgetError),
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Results cannot be written.
    #[error("the results cannot be written: {0}")]
    Results(String),
    /// A virtual client did what no client does: a bug of ours.
    #[error("a virtual client failed: {0}")]
    Client(String),
    /// Nothing happens any more, and the task is not over.
    #[error(
        "after {virtual_seconds:.0} virtual seconds nothing happens any more, and the task is not over: {detail}"
    )]
    Stuck {
        /// When.
        virtual_seconds: f64,
        /// Where everybody stands.
        detail: String,
    },
}

impl From<Refusal> for SimulateError {
    fn from(refusal: Refusal) -> Self {
        SimulateError::Task(refusal)
    }
}
