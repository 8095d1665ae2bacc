//! A release: what a closed round becomes.
//!
//! Prepare, make, keep, then publish or withhold: each step takes what the one before it returned, and none goes back. A crash
//! at any point is answered by doing all of it again, which makes the same bytes, but for noise.

mod make;
mod noise;
mod publish;
mod withhold;

use std::sync::Arc;

use folkmoot_protocol::Timestamp;
use folkmoot_storage::{RoundRecord, TaskRecord};
use make::Prepared;
pub use noise::forget_last_noise;
pub use withhold::withhold;

use super::DriveError;
use crate::coordinator::Coordinator;

/// Combines a closed round's updates and publishes the version that comes of them, or withholds it where a privacy budget does
/// not allow it.
///
/// # Errors
/// If the storage, the round log or the blob store fails, or the updates cannot be combined; the round is as it was.
pub async fn release(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    now: Timestamp,
) -> Result<(), DriveError> {
    let prepared = Prepared::of(coordinator, task, record).await?;
    let made = prepared.make(coordinator).await?;
    let candidate = made.keep(coordinator, task, now).await?;
    candidate.publish(coordinator, task, now).await
}
