//! Look-ups of model versions that must exist.

use folkmoot_storage::{ModelVersionRecord, ModelVersionRepository, StorageError, TaskRecord};

use super::DriveError;
use crate::coordinator::Coordinator;

/// Returns a task's newest version. A missing version is an error.
pub async fn latest(coordinator: &Coordinator, task: &TaskRecord) -> Result<ModelVersionRecord, DriveError> {
    let latest = coordinator.storage.latest_model_version(task.id).await?;
    Ok(latest.ok_or(StorageError::NotFound("model version"))?)
}

/// Returns the version of a task with this number. A missing version is an error.
pub async fn version(
    coordinator: &Coordinator,
    task: &TaskRecord,
    number: u64,
) -> Result<ModelVersionRecord, DriveError> {
    let version = coordinator.storage.model_version(task.id, number).await?;
    Ok(version.ok_or(StorageError::NotFound("model version"))?)
}
