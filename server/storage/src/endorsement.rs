use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, TaskId, Timestamp};

use crate::StorageError;

/// An operator's signed statement about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndorsementRecord {
    /// The organisation that owns the task.
    pub organisation_id: OrganisationId,
    /// The task.
    pub task_id: TaskId,
    /// The number in the statement. The endorsement with the highest number is in force.
    pub sequence: u64,
    /// A `folkmoot_protocol::endorsement::Endorsement`, as JSON.
    pub signed: String,
    /// The signer's public key, for the audit log.
    pub public_key: String,
    /// When the endorsement was published.
    pub published_at: Timestamp,
}

/// Stores endorsements. None is ever changed or deleted.
#[async_trait]
pub trait EndorsementRepository {
    /// Stores an endorsement.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the task has one with the same or a higher number, and
    /// [`StorageError::NotFound`] if the organisation has no such task.
    async fn publish_endorsement(&self, endorsement: &EndorsementRecord) -> Result<(), StorageError>;

    /// Returns the endorsement in force of a task, as JSON.
    async fn endorsement(&self, task_id: TaskId) -> Result<Option<String>, StorageError>;
}
