//! Whose clients may not be counted: those of tasks whose privacy rests on nobody knowing who was drawn.

use std::collections::BTreeSet;

use folkmoot_protocol::{OrganisationId, PopulationName};
use folkmoot_storage::{LedgerRepository, StorageError, TaskRepository};

use crate::coordinator::Coordinator;

/// Lists the populations of an organisation with a task under way that hides how many clients its rounds drew. How many wait
/// or train just now would tell.
///
/// # Errors
/// If the storage fails.
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

/// Says whether a population has had such a task: its past updates may not be counted either.
///
/// # Errors
/// If the storage fails.
pub async fn was_sampled(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    population: &PopulationName,
) -> Result<bool, StorageError> {
    Ok(coordinator.storage.ledger_sum(organisation_id, population).await?.totals.has_sampled())
}
