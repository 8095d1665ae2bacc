//! The ledger charge of a task whose clients add the noise.

use folkmoot_protocol::{RoundId, Timestamp};
use folkmoot_storage::{CollectionCharge, Leave, LedgerRepository, StorageError, TaskRecord};

use super::{Ground, budget::terms};
use crate::coordinator::Coordinator;

/// Charges a task whose clients add the noise before the coordinator reads any byte of an update. The coordinator sees every
/// byte that arrives, even if it refuses the update, the upload is interrupted or the round is abandoned; with masks, it may see
/// a sum that it does not publish. Returns whether
/// the update may be read: `false` if the budget does not allow the charge.
///
/// # Errors
/// Fails if the storage fails, or the ledger cannot be read.
pub async fn may_collect(
    coordinator: &Coordinator,
    task: &TaskRecord,
    round_id: RoundId,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let Some(terms) = terms(task).filter(|_| task.description.privacy.is_added_by_clients()) else {
        return Ok(true);
    };
    if coordinator.charged.contains(task.id) {
        return Ok(true);
    }
    loop {
        let ground = Ground::of(coordinator, task).await?;
        // One charge, made before the first update, covers all updates of the task.
        if !ground.has_begun(task.id) {
            if !ground.allows(task, 0, &[])? {
                return Ok(false);
            }
            let charge = CollectionCharge {
                organisation_id: task.organisation_id,
                task_id: task.id,
                round_id,
                leave: Leave {
                    population: &task.description.population,
                    privacy: ground.population,
                    entries: ground.entries(),
                    charge: Some(&terms.charge),
                },
                now,
            };
            match coordinator.storage.charge_collection(&charge).await {
                Ok(()) => {}
                // Another request wrote to the ledger first; retry with its new state.
                Err(StorageError::LeaveConflict) => continue,
                Err(error) => return Err(error),
            }
            tracing::info!(task = %task.id, "task charged: its first update with noise is about to arrive");
        }
        coordinator.charged.insert(task.id);
        return Ok(true);
    }
}
