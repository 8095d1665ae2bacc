use folkmoot_secure_aggregation::{MessageFault, RecoverError, RosterFault};
use folkmoot_storage::StorageError;

/// Why a step of secure aggregation failed.
#[derive(Debug, thiserror::Error)]
pub enum UnmaskError {
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A stored message cannot be read.
    #[error("a stored message of secure aggregation cannot be read: {0}")]
    Stored(#[from] serde_json::Error),
    /// Clients would refuse the roster.
    #[error(transparent)]
    Roster(#[from] RosterFault),
    /// The keys that a client advertises are invalid.
    #[error(transparent)]
    Advertisement(RosterFault),
    /// A client's message is invalid.
    #[error(transparent)]
    Message(#[from] MessageFault),
    /// The message belongs to another step, or its client is not in the roster.
    #[error("the message does not belong to this step")]
    OtherStep,
    /// The masks cannot be removed.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// A committee has not summed the masks.
    #[error("the committee has not summed the masks")]
    NotSummed,
    /// The task does not use secure aggregation.
    #[error("the task does not use secure aggregation")]
    NotSecure,
}

impl UnmaskError {
    /// Returns whether clients caused the failure, so that a retry with the same messages would fail again.
    pub fn is_of_clients(&self) -> bool {
        matches!(self, UnmaskError::Roster(_) | UnmaskError::Message(_) | UnmaskError::Recover(_))
    }
}
