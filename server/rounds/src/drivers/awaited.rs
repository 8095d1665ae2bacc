use folkmoot_coordinator::{
    round::{Awaited, Phase, Purpose},
    scheduling::{ReportCounts, SchedulingChoice},
};
use folkmoot_storage::{ClientRepository, RoundRecord, Storage, StorageError, TaskRecord};

use super::{partial_sums, rules::rules};

/// The event that an open round waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaits {
    /// The event.
    pub event: Awaited,
    /// The edge aggregators whose sums are awaited, by name and key.
    pub sums_of: Vec<String>,
}

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
) -> Result<Option<Awaits>, StorageError> {
    if matches!(record.round.phase, Phase::Aggregating { .. }) {
        return sums(storage, task, record).await;
    }
    let rules = rules(task, record.round.purpose);
    let policy = rules.borrow().policy;
    let is_crowd = match policy.crowd().filter(|_| record.round.purpose == Purpose::Training) {
        Some(crowd) => storage.has_clients(task.organisation_id, &task.description.population, crowd).await?,
        None => true,
    };
    let event =
        record.round.awaited(policy, is_crowd, counts).map(|event| match task.description.hides_counts() {
            true => Awaited { needed: None, needed_then: None, ..event },
            false => event,
        });
    Ok(event.map(|event| Awaits { event, sums_of: Vec::new() }))
}

/// Returns the sums that a closed round waits for.
async fn sums(
    storage: &Storage,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<Option<Awaits>, StorageError> {
    let SchedulingChoice::Synchronous(policy) = &task.description.scheduling else { return Ok(None) };
    let Ok(database) = storage.database() else { return Ok(None) };
    let sums = database.partial_sums(record.round.id).await?;
    let silent: Vec<_> = sums.iter().filter(|sum| sum.answer.is_none()).collect();
    let Some(asked_at) = silent.iter().map(|sum| sum.asked_at).max() else { return Ok(None) };
    let until = Some(asked_at.plus_seconds(policy.reporting_deadline_seconds));
    let sums_of = partial_sums::names(storage, silent.iter().map(|sum| &sum.aggregator)).await?;
    Ok(Some(Awaits { event: Awaited { needed: None, until, needed_then: None }, sums_of }))
}
