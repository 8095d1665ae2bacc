use folkmoot_coordinator::{
    invariants::BrokenInvariantError, round::InvalidTransitionError, task::InvalidTaskTransitionError,
};
use folkmoot_storage::{BlobStoreError, RoundLogError, StorageError};

use crate::{combine::MakeError, coordinator::ForgetError, downstream::PartsError};

/// Why a step could not be made. The next one tries again.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The storage failed, or another process was faster.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The round log failed.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// What is not needed any more could not be removed.
    #[error(transparent)]
    Forget(#[from] ForgetError),
    /// No version could be made.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The blob store failed.
    #[error(transparent)]
    Blob(#[from] BlobStoreError),
    /// The parts of a version could not be made.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// A bug of ours: nothing was written.
    #[error(transparent)]
    Invariant(#[from] BrokenInvariantError),
    /// A bug of ours: nothing was written.
    #[error(transparent)]
    Transition(#[from] InvalidTransitionError),
    /// The task cannot go where the step wanted it to.
    #[error(transparent)]
    Task(#[from] InvalidTaskTransitionError),
    /// The operator's own examples cannot be evaluated.
    #[error("version {version} cannot be evaluated on the operator's examples: {detail}")]
    Evaluation {
        /// The version.
        version: u64,
        /// Why.
        detail: String,
    },
    /// The computation was interrupted.
    #[error("the computation was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl DriveError {
    /// Says whether a round that cannot be combined for this reason never will be: its data is the reason, and not a
    /// database, a disk or a bucket that may come back.
    pub fn is_of_data(&self) -> bool {
        match self {
            DriveError::Storage(StorageError::OutOfRange(_) | StorageError::Corrupt { .. })
            | DriveError::Invariant(_)
            | DriveError::Transition(_)
            | DriveError::Make(MakeError::Noise(_)) => true,
            DriveError::RoundLog(error) | DriveError::Make(MakeError::RoundLog(error)) => {
                matches!(error, RoundLogError::NotFound(_) | RoundLogError::TooShort { .. })
            }
            // A computation that panics does so again. One that was cancelled was not: the process goes down.
            DriveError::Interrupted(error) => error.is_panic(),
            _ => false,
        }
    }
}
