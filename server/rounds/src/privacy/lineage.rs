//! The privacy cost of the versions that a task descends from.

use folkmoot_privacy::ledger::{Event, Totals};
use folkmoot_protocol::PopulationName;
use folkmoot_storage::{Ancestor, LedgerRepository, StorageError, TaskRecord};

use crate::coordinator::Coordinator;

/// The number of ledger entries to read at a time.
const PAGE: u32 = 1000;

/// Lists the versions that a task descends from if it starts from this version of another task: first that version,
/// then its own ancestors.
///
/// # Errors
/// Fails if the storage fails.
pub async fn ancestors(
    coordinator: &Coordinator,
    task: &TaskRecord,
    version: u64,
) -> Result<Vec<Ancestor>, StorageError> {
    let first = coordinator.catalog.version(&coordinator.storage, task.id, 0).await?;
    let ancestor = Ancestor {
        task_id: task.id,
        version,
        population: task.description.population.clone(),
        totals: spent_until(coordinator, task, version).await?,
        is_unbounded: task.description.privacy.is_none() && version > 0,
    };
    Ok([ancestor].into_iter().chain(first.making.ancestors.iter().cloned()).collect())
}

/// Adds up the charges of the ancestors that this population's clients trained.
pub fn inherited(ancestors: &[Ancestor], population: &PopulationName) -> Totals {
    let mut totals = Totals::default();
    let of_population = ancestors.iter().filter(|ancestor| ancestor.population == *population);
    of_population.for_each(|ancestor| totals.extend(&ancestor.totals));
    totals
}

/// Adds up a task's charges up to a version. Version 0 costs nothing, because the task did not train it.
async fn spent_until(
    coordinator: &Coordinator,
    task: &TaskRecord,
    version: u64,
) -> Result<Totals, StorageError> {
    let mut totals = Totals::default();
    if task.description.privacy.is_none() || version == 0 {
        return Ok(totals);
    }
    let (storage, population) = (&coordinator.storage, &task.description.population);
    let mut after = 0;
    loop {
        let page = storage.ledger_entries(task.organisation_id, population, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(totals) };
        after = last.sequence;
        for entry in &page {
            let is_before = match &entry.event {
                Event::Release(release) => release.task_id == task.id && release.version <= version,
                Event::Collection(collection) => collection.task_id == task.id,
                Event::Settings(_) | Event::Task(_) => false,
            };
            if is_before {
                totals.count(&entry.event);
            }
        }
    }
}
