use folkmoot_coordinator::{
    round::{Awaited, Purpose},
    scheduling::ReportCounts,
};
use folkmoot_storage::{ClientRepository, RoundRecord, Storage, StorageError, TaskRecord};

use super::rules::rules;

/// Returns the event that an open round waits for. `None` if no single event decides. Counts are omitted if the task
/// hides them.
///
/// # Errors
/// Fails if the storage fails.
pub async fn awaited(
    storage: &Storage,
    task: &TaskRecord,
    record: &RoundRecord,
    counts: ReportCounts,
) -> Result<Option<Awaited>, StorageError> {
    let rules = rules(task, record.round.purpose);
    let policy = rules.borrow().policy;
    let is_crowd = match policy.crowd().filter(|_| record.round.purpose == Purpose::Training) {
        Some(crowd) => storage.has_clients(task.organisation_id, &task.description.population, crowd).await?,
        None => true,
    };
    let awaited = record.round.awaited(policy, is_crowd, counts);
    Ok(awaited.map(|awaited| match task.description.hides_counts() {
        true => Awaited { needed: None, needed_then: None, ..awaited },
        false => awaited,
    }))
}
