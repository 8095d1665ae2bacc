use async_trait::async_trait;
use folkmoot_coordinator::privacy::{PopulationPrivacy, Terms};
use folkmoot_privacy::{
    Delta, Epsilon,
    ledger::{Entry, Event, Promise, Settings, TaskTerms, Totals},
};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId, TaskId, Timestamp};

use crate::{Leave, ModelVersionRecord, StorageError, TaskRecord};

/// What a population's ledger adds up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerSum {
    /// How many entries it has.
    pub entries: u64,
    /// What they cost.
    pub totals: Totals,
}

/// Writes settings of a population as an entry of its ledger.
pub(crate) fn settings_event(privacy: &PopulationPrivacy, weakened: Option<&str>, by: &str) -> Event {
    Event::Settings(Settings {
        unit: privacy.unit,
        budget: privacy.budget.map(|budget| (budget.epsilon, budget.delta)),
        weakened: weakened.map(str::to_owned),
        by: by.to_owned(),
    })
}

/// Writes the terms of a new task as an entry of its population's ledger. A task that promises nothing is written down
/// where promises were made before: what it reveals adds to what they allow.
pub(crate) fn task_event(task: &TaskRecord, first: &ModelVersionRecord, has_entries: bool) -> Option<Event> {
    // A description that was accepted has terms, and limits that are numbers of a budget.
    let promise = task.description.privacy.limits().and_then(|limits| {
        let terms = Terms::of(&task.description).ok().flatten()?;
        let (epsilon, delta) = (Epsilon::new(limits.epsilon).ok()?, Delta::new(limits.delta).ok()?);
        Some(Promise { epsilon, delta, charge: terms.charge })
    });
    let warm_start = first.making.warm_start.map(|start| (start.task_id, start.version));
    let is_written = promise.is_some() || has_entries;
    is_written.then_some(Event::Task(TaskTerms { task_id: task.id, promise, warm_start }))
}

/// The charge of a task whose clients add the noise.
#[derive(Clone, Copy, Debug)]
pub struct CollectionCharge<'a> {
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// The task.
    pub task_id: TaskId,
    /// The round whose first update is about to be taken.
    pub round_id: RoundId,
    /// What it costs, and what that rests on. Without a charge nothing is written.
    pub leave: Leave<'a>,
    /// When.
    pub now: Timestamp,
}

/// The privacy ledgers, one of each population. A version and its charge are stored together or not at all, by
/// [`crate::RoundRepository::commit_round`].
#[async_trait]
pub trait LedgerRepository {
    /// Lists a population's entries after a place, in their order, at most `limit`.
    async fn ledger_entries(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Entry>, StorageError>;

    /// Adds up all of a population's entries.
    async fn ledger_sum(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<LedgerSum, StorageError>;

    /// Charges a task whose clients add the noise, before the first of their updates is taken. A task is charged once,
    /// however often this is called.
    ///
    /// # Errors
    /// [`StorageError::LeaveConflict`] if what its leave rests on is not so any more; nothing is charged then.
    async fn charge_collection(&self, charge: &CollectionCharge<'_>) -> Result<(), StorageError>;

    /// Notes the blobs of a version that is about to be released. Should its commit never come, they are to be deleted:
    /// the next attempt draws other noise, and two noisy copies of one sum tell more than was charged.
    async fn note_unreleased(&self, round_id: RoundId, blobs: &[BlobDigest]) -> Result<(), StorageError>;

    /// Lists the blobs that were noted for a round and not released since.
    async fn unreleased(&self, round_id: RoundId) -> Result<Vec<BlobDigest>, StorageError>;

    /// Forgets them: they are deleted.
    async fn forget_unreleased(&self, round_id: RoundId) -> Result<(), StorageError>;
}
