//! The release of a closed round: the coordinator publishes or withholds its version.
//!
//! The steps are prepare, make, keep, and finally publish or withhold. Each step consumes the result of the previous
//! step. After a crash, the release starts again from the first step. Except for the noise, it produces the same bytes.

mod examples;
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

/// Combines a closed round's updates and publishes the resulting version. Withholds the version if a privacy budget
/// does not allow it.
///
/// # Errors
/// Fails if the storage, the round log or the blob store fails, or the updates cannot be combined; the round is
/// unchanged.
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
