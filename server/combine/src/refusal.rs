//! The refusal of a request: a stable code, and a sentence for people.

use folkmoot_coordinator::{
    invariants::BrokenInvariantError,
    round::InvalidTransitionError,
    task::{Fault, InvalidTaskTransitionError},
};
use folkmoot_objects::BlobStoreError;
use folkmoot_protocol::{ErrorCode, Problem, Timestamp};
use folkmoot_round_log::RoundLogError;
use folkmoot_storage::StorageError;

/// The time, in milliseconds, after which a client repeats a request that met a failing database, store or disk.
const UNAVAILABLE_MILLISECONDS: u64 = 5_000;

/// The refusal of a request, with its code and detail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", .0.code, .0.detail)]
pub struct Refusal(pub Box<Problem>);

impl Refusal {
    /// Creates a refusal with a code and a detail for people.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code, detail)))
    }

    /// Returns the stable code.
    pub fn code(&self) -> ErrorCode {
        self.0.code.known().expect("it was made with a code of this build")
    }

    /// Adds the time, in milliseconds, after which the client may repeat its request.
    pub fn retry_after(mut self, milliseconds: u64) -> Self {
        self.0.retry_after_milliseconds = Some(milliseconds);
        self
    }

    /// Adds the coordinator's current time.
    pub fn server_time(mut self, now: Timestamp) -> Self {
        self.0.server_time = Some(now);
        self
    }

    /// Adds the number of bytes that the coordinator has received of an upload.
    pub fn received(mut self, bytes: u64) -> Self {
        self.0.received_bytes = Some(bytes);
        self
    }

    /// Refuses a task's description and lists all its faults.
    pub fn faults(faults: &[Fault]) -> Self {
        let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
        Self::new(ErrorCode::TaskInvalid, lines.join("\n"))
    }

    /// Reports an internal failure. The log has the reason; the client is told only that its request was not the cause.
    pub fn internal(error: &dyn std::error::Error) -> Self {
        tracing::error!(%error, "a request failed with an internal error");
        Self::new(ErrorCode::Internal, "an internal error occurred; the coordinator's log has the reason")
            .retry_after(1_000)
    }

    /// Sheds a request because the database, a store or the disk cannot work now. The log has the reason.
    fn unavailable(what: &str, error: &dyn std::error::Error) -> Self {
        tracing::warn!(%error, "a request was refused, because {what} cannot work now");
        Self::new(ErrorCode::Overloaded, format!("{what} cannot work now; repeat the request later"))
            .retry_after(UNAVAILABLE_MILLISECONDS)
    }
}

impl From<Box<Problem>> for Refusal {
    fn from(problem: Box<Problem>) -> Self {
        Self(problem)
    }
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::RevisionConflict(_) | StorageError::LeaveConflict => {
                Refusal::new(ErrorCode::Overloaded, format!("{error}; repeat the request")).retry_after(100)
            }
            StorageError::OutOfRange(_) => Refusal::new(ErrorCode::MalformedRequest, error.to_string()),
            StorageError::LastAdminKey => Refusal::new(
                ErrorCode::LastAdminKey,
                "this is the last admin API key, and without it nobody could create keys; create another admin key first",
            ),
            // The request began before the organisation was closed, which has revoked its key.
            StorageError::OrganisationClosed => Refusal::new(ErrorCode::ApiKeyInvalid, error.to_string()),
            StorageError::ClientRevoked => Refusal::new(ErrorCode::ClientRevoked, error.to_string()),
            StorageError::NameTaken(_) => Refusal::new(ErrorCode::NameTaken, error.to_string()),
            other if other.is_unavailable() => Refusal::unavailable("the database", &other),
            other => Refusal::internal(&other),
        }
    }
}

impl From<BlobStoreError> for Refusal {
    fn from(error: BlobStoreError) -> Self {
        match error {
            BlobStoreError::NotFound(_) => Refusal::new(ErrorCode::BlobUnknown, error.to_string()),
            BlobStoreError::Store(_) => Refusal::unavailable("the store of models and weights", &error),
            other => Refusal::internal(&other),
        }
    }
}

impl From<RoundLogError> for Refusal {
    fn from(error: RoundLogError) -> Self {
        match error {
            RoundLogError::Busy(_) => Refusal::new(
                ErrorCode::UploadBusy,
                "another request is sending this update; ask for its state, then retry",
            )
            .retry_after(1_000),
            // A segment is deleted with its round, so the round ended while the update was in transit.
            RoundLogError::NotFound(_) => {
                Refusal::new(ErrorCode::RoundClosed, "the round closed without this update; check in again")
            }
            RoundLogError::Io { ref source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                Refusal::unavailable("the disk of the data folder", &error)
            }
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
