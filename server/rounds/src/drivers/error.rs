use folkmoot_coordinator::{
    invariants::BrokenInvariantError, round::InvalidTransitionError, task::InvalidTaskTransitionError,
};
use folkmoot_objects::{BlobStoreError, UpdateStoreError};
use folkmoot_round_log::RoundLogError;
use folkmoot_storage::StorageError;
use folkmoot_strategy::StrategyError;
use folkmoot_unmasking::UnmaskError;

use crate::{
    combine::{MakeError, PartialSumError},
    components::LoadError,
    coordinator::ForgetError,
    downstream::PartsError,
};

/// The reason why a step failed. The next step retries.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The storage failed, or another process committed first.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The round log failed.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// The store of updates failed.
    #[error(transparent)]
    Updates(#[from] UpdateStoreError),
    /// Logs that are no longer needed could not be removed.
    #[error(transparent)]
    Forget(#[from] ForgetError),
    /// No version could be produced.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// An edge aggregator has sent something else than a sum of this round.
    #[error(transparent)]
    PartialSum(#[from] PartialSumError),
    /// A component of the task cannot be loaded.
    #[error(transparent)]
    Component(#[from] LoadError),
    /// The task's own selection failed.
    #[error(transparent)]
    Selection(#[from] StrategyError),
    /// The masks of secure aggregation cannot be removed.
    #[error(transparent)]
    Unmask(#[from] UnmaskError),
    /// The blob store failed.
    #[error(transparent)]
    Blob(#[from] BlobStoreError),
    /// The parts of a version could not be produced.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// A bug in the coordinator; nothing was written.
    #[error(transparent)]
    Invariant(#[from] BrokenInvariantError),
    /// A bug in the coordinator; nothing was written.
    #[error(transparent)]
    Transition(#[from] InvalidTransitionError),
    /// The task's state does not allow the step's transition.
    #[error(transparent)]
    Task(#[from] InvalidTaskTransitionError),
    /// The coordinator could not evaluate a version on the operator's examples.
    #[error("version {version} cannot be evaluated on the operator's examples: {detail}")]
    Evaluation {
        /// The version number.
        version: u64,
        /// The reason.
        detail: String,
    },
    /// The computation was interrupted.
    #[error("the computation was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl DriveError {
    /// Returns whether the log does not have the updates that the round has accepted.
    pub fn is_of_log(&self) -> bool {
        match self {
            DriveError::RoundLog(error) | DriveError::Make(MakeError::RoundLog(error)) => {
                matches!(error, RoundLogError::NotFound(_) | RoundLogError::TooShort { .. })
            }
            _ => false,
        }
    }

    /// Returns whether the round's own data caused the failure, so that a retry would fail again. Failures of a
    /// database, disk or bucket may be temporary.
    pub fn is_of_data(&self) -> bool {
        match self {
            DriveError::Storage(StorageError::OutOfRange(_) | StorageError::Corrupt { .. })
            | DriveError::Invariant(_)
            | DriveError::PartialSum(_)
            | DriveError::Transition(_)
            | DriveError::Make(
                MakeError::Noise(_)
                | MakeError::WeightSum { .. }
                | MakeError::Strategy(_)
                | MakeError::MixtureWeights(_)
                | MakeError::Guide(_),
            ) => true,
            DriveError::RoundLog(_) | DriveError::Make(MakeError::RoundLog(_)) => self.is_of_log(),
            // Another process, or the next build, may be able to run components.
            DriveError::Component(LoadError::Strategy(error)) | DriveError::Selection(error) => {
                *error != StrategyError::Unsupported
            }
            DriveError::Component(LoadError::Interrupted(error)) => error.is_panic(),
            DriveError::Unmask(error) => error.is_of_clients(),
            // An accepted update is lost or damaged.
            DriveError::Updates(error) => error.is_final(),
            // A computation that panicked would panic again. A cancelled computation only means that the process is
            // shutting down.
            DriveError::Interrupted(error) => error.is_panic(),
            _ => false,
        }
    }
}
