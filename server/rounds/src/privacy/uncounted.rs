//! Populations whose clients must not be counted: a task's privacy depends on hiding which clients were drawn.

use std::collections::BTreeSet;

use folkmoot_protocol::{OrganisationId, PopulationName};
use folkmoot_storage::{LedgerRepository, StorageError, TaskRepository};

use crate::coordinator::Coordinator;

/// Lists the populations of an organisation with a running task that hides how many clients its rounds draw. In these
/// populations, the numbers of waiting or training clients would reveal how many were drawn.
///
/// # Errors
/// Fails if the storage fails.
pub async fn sampled_now(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
) -> Result<BTreeSet<PopulationName>, StorageError> {
    let mut populations = BTreeSet::new();
    for id in coordinator.storage.tasks_to_drive().await? {
        match coordinator.catalog.task(&coordinator.storage, id).await {
            Ok(task) if task.organisation_id == organisation_id && task.description.hides_counts() => {
                populations.insert(task.description.population.clone());
            }
            Ok(_) | Err(StorageError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(populations)
}

/// Returns whether a population ever had a task that hides how many clients its rounds draw. If so, its past updates
/// must not be counted either.
///
/// # Errors
/// Fails if the storage fails.
pub async fn was_sampled(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    population: &PopulationName,
) -> Result<bool, StorageError> {
    Ok(coordinator.storage.ledger_sum(organisation_id, population).await?.totals.has_sampled())
}
