//! Why a request is refused: a stable code, and what a human needs to know.

use folkmoot_coordinator::{
    invariants::BrokenInvariantError,
    round::InvalidTransitionError,
    task::{Fault, InvalidTaskTransitionError},
};
use folkmoot_protocol::{ErrorCode, Problem, Timestamp};
use folkmoot_storage::{BlobStoreError, RoundLogError, StorageError};

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", .0.code, .0.detail)]
pub struct Refusal(pub Box<Problem>);

impl Refusal {
    /// Refuses with a code and a detail for humans.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code, detail)))
    }

    /// Returns the stable code.
    pub fn code(&self) -> ErrorCode {
        self.0.code.known().expect("it was made with a code of this build")
    }

    /// Adds when to ask again.
    pub fn retry_after(mut self, milliseconds: u64) -> Self {
        self.0.retry_after_milliseconds = Some(milliseconds);
        self
    }

    /// Adds the coordinator's clock.
    pub fn server_time(mut self, now: Timestamp) -> Self {
        self.0.server_time = Some(now);
        self
    }

    /// Adds how many bytes of an upload have arrived.
    pub fn received(mut self, bytes: u64) -> Self {
        self.0.received_bytes = Some(bytes);
        self
    }

    /// Refuses a task's description with all its faults.
    pub fn faults(faults: &[Fault]) -> Self {
        let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
        Self::new(ErrorCode::TaskInvalid, lines.join("\n"))
    }

    /// Reports a failure of ours: the log has the reason, the client only learns that it was not its fault.
    pub fn internal(error: &dyn std::error::Error) -> Self {
        tracing::error!(%error, "a request failed inside");
        Self::new(ErrorCode::Internal, "something failed inside the coordinator; its log has the reason")
            .retry_after(1_000)
    }
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::RevisionConflict(_) | StorageError::LeaveConflict => {
                Refusal::new(ErrorCode::Overloaded, format!("{error}; send the request again"))
                    .retry_after(100)
            }
            StorageError::OutOfRange(_) => Refusal::new(ErrorCode::MalformedRequest, error.to_string()),
            StorageError::LastAdminKey => Refusal::new(
                ErrorCode::LastAdminKey,
                "this is the last API key of an admin, without which nobody could hand out keys; create another first",
            ),
            StorageError::ClientRevoked => Refusal::new(ErrorCode::ClientRevoked, error.to_string()),
            StorageError::NameTaken(_) => Refusal::new(ErrorCode::NameTaken, error.to_string()),
            other => Refusal::internal(&other),
        }
    }
}

impl From<BlobStoreError> for Refusal {
    fn from(error: BlobStoreError) -> Self {
        match error {
            BlobStoreError::NotFound(_) => Refusal::new(ErrorCode::BlobUnknown, error.to_string()),
            other => Refusal::internal(&other),
        }
    }
}

impl From<RoundLogError> for Refusal {
    fn from(error: RoundLogError) -> Self {
        match error {
            RoundLogError::Busy(_) => {
                Refusal::new(ErrorCode::UploadBusy, "another request is sending this update")
                    .retry_after(1_000)
            }
            // A segment goes with its round: the update was still on its way when the round ended.
            RoundLogError::NotFound(_) => Refusal::new(
                ErrorCode::RoundClosed,
                "the round has closed without this update; check in again",
            ),
            other => Refusal::internal(&other),
        }
    }
}

impl From<InvalidTaskTransitionError> for Refusal {
    fn from(error: InvalidTaskTransitionError) -> Self {
        Refusal::new(ErrorCode::TaskStateConflict, error.to_string())
    }
}

impl From<InvalidTransitionError> for Refusal {
    fn from(error: InvalidTransitionError) -> Self {
        Refusal::internal(&error)
    }
}

impl From<BrokenInvariantError> for Refusal {
    fn from(error: BrokenInvariantError) -> Self {
        Refusal::internal(&error)
    }
}
