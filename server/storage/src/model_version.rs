use std::future::Future;

use folkmoot_protocol::{BlobDigest, RoundId, TaskId, Timestamp, update::UpdateMetrics};

use crate::StorageError;

/// A committed, numbered state of a task's model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelVersionRecord {
    /// The task.
    pub task_id: TaskId,
    /// Its number: 0 is what the task began with.
    pub number: u64,
    /// The round that made it; none for version 0.
    pub round_id: Option<RoundId>,
    /// The weights: float32, little-endian, in the schema's order.
    pub weights: BlobDigest,
    /// The weights' bytes.
    pub weights_bytes: u64,
    /// What the clients of its round measured on the version before, summed; zeros for version 0.
    pub metrics: UpdateMetrics,
    /// When it was released.
    pub created_at: Timestamp,
}

/// Model versions. They are written by [`crate::TaskRepository::create_task`] and
/// [`crate::RoundRepository::commit_round`] only.
pub trait ModelVersionRepository {
    /// Finds one version of a task.
    fn model_version(
        &self,
        task_id: TaskId,
        number: u64,
    ) -> impl Future<Output = Result<Option<ModelVersionRecord>, StorageError>> + Send;

    /// Finds a task's newest version.
    fn latest_model_version(
        &self,
        task_id: TaskId,
    ) -> impl Future<Output = Result<Option<ModelVersionRecord>, StorageError>> + Send;

    /// Lists a task's versions, newest first, at most `limit`, below `before` when given.
    fn model_versions(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> impl Future<Output = Result<Vec<ModelVersionRecord>, StorageError>> + Send;
}
