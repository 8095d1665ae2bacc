use folkmoot_engine::ExamplesError;
use folkmoot_round_log::RoundLogError;
use folkmoot_rounds::{coordinator::ForgetError, drivers::DriveError, refusal::Refusal};
use folkmoot_storage::StorageError;

use crate::{
    InvalidSettingsError, attack::AttackError, partition::PartitionError, synthetic::SyntheticError,
};

/// A simulation that cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// A setting is out of range.
    #[error(transparent)]
    Settings(#[from] InvalidSettingsError),
    /// The task or the model is rejected. The text lists every fault.
    #[error("{0}")]
    Task(Refusal),
    /// The task or the model is rejected because functions take the place of parts.
    #[error("this task allows no functions, because the rules for components also hold for functions: {0}")]
    NoFunctions(Refusal),
    /// A function failed, or cannot be called.
    #[error("{0}")]
    Functions(String),
    /// The data cannot be read.
    #[error("{0}")]
    Data(String),
    /// The data cannot be divided among the clients.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The data cannot be generated.
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
    /// The examples do not fit together.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// The attack does not fit the data.
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
        /// The path of the file.
        path: std::path::PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Results cannot be written.
    #[error("the results cannot be written: {0}")]
    Results(String),
    /// A virtual client did something that no real client does. This is a bug in the simulation.
    #[error("the simulation failed: {0}; this is a bug, please report it")]
    Client(String),
    /// No event is left, but the task is not over.
    #[error(
        "the simulation is stuck after {virtual_seconds:.0} virtual seconds: no event is left, but the task is not over; {detail}"
    )]
    Stuck {
        /// The virtual time, in seconds.
        virtual_seconds: f64,
        /// The numbers of clients that have work and of clients that wait.
        detail: String,
    },
}

impl From<Refusal> for SimulateError {
    fn from(refusal: Refusal) -> Self {
        SimulateError::Task(refusal)
    }
}
