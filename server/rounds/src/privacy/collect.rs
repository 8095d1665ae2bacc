//! The charge of a task whose clients add the noise.

use folkmoot_protocol::{RoundId, Timestamp};
use folkmoot_storage::{CollectionCharge, Leave, LedgerRepository, StorageError, TaskRecord};

use super::{Ground, budget::terms};
use crate::coordinator::Coordinator;

/// Makes sure that a task is charged whose clients add the noise, before a byte of an update is taken: what arrives is seen,
/// whether it is accepted, refused or cut off, and whatever becomes of its round. Says whether the update may be taken:
/// not where the budget does not allow it.
///
/// # Errors
/// If the storage fails, or the ledger cannot be read.
pub async fn may_collect(
    coordinator: &Coordinator,
    task: &TaskRecord,
    round_id: RoundId,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let Some(terms) = terms(task).filter(|_| task.description.privacy.local().is_some()) else {
        return Ok(true);
    };
    if coordinator.charged.contains(task.id) {
        return Ok(true);
    }
    loop {
        let ground = Ground::of(coordinator, task).await?;
        // Who came before has paid for all.
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
                // Somebody else was faster, so that all together get on.
                Err(StorageError::LeaveConflict) => continue,
                Err(error) => return Err(error),
            }
            tracing::info!(task = %task.id, "clients begin to send noised updates: the task is charged");
        }
        coordinator.charged.insert(task.id);
        return Ok(true);
    }
}
