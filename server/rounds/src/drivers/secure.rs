//! The steps of secure aggregation, as the drivers perform them.

use folkmoot_coordinator::round::SecureStep;
use folkmoot_protocol::Timestamp;
use folkmoot_secure_aggregation::Masks;
use folkmoot_storage::{RoundRecord, SecureRepository, TaskRecord};

use super::DriveError;
use crate::coordinator::Coordinator;

/// Returns whether enough shares are open to remove the masks from the sum of a round's updates.
///
/// # Errors
/// Fails if the storage fails, or a stored message is invalid.
pub async fn is_open(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<bool, DriveError> {
    Ok(coordinator.exchange(task, record).await?.is_open().await?)
}

/// Returns the masks on the sum of a round's updates.
///
/// # Errors
/// Fails if the storage fails, or a client has cheated so that the masks cannot be recovered.
pub async fn masks(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<Masks, DriveError> {
    Ok(coordinator.exchange(task, record).await?.masks().await?)
}

/// Ends a step, and wakes its clients.
///
/// # Errors
/// Fails if the storage fails.
pub async fn close_step(
    coordinator: &Coordinator,
    next: &RoundRecord,
    step: SecureStep,
    now: Timestamp,
) -> Result<(), DriveError> {
    coordinator.storage.close_step(next, step, now).await?;
    Ok(coordinator.wake_members(next).await?)
}
