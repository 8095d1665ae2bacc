use async_trait::async_trait;
use folkmoot_coordinator::privacy::{PopulationPrivacy, Terms};
use folkmoot_privacy::{
    Delta, Epsilon,
    ledger::{Entry, Event, Promise, Settings, TaskTerms, Totals},
};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId, TaskId, Timestamp};

use crate::{Leave, ModelVersionRecord, RoundRecord, StorageError, TaskRecord};

/// The totals of a population's ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerSum {
    /// The number of entries.
    pub entries: u64,
    /// The total privacy cost of the entries.
    pub totals: Totals,
}

/// Creates the ledger entry for a population's privacy settings.
pub(crate) fn settings_event(privacy: &PopulationPrivacy, weakened: Option<&str>, by: &str) -> Event {
    Event::Settings(Settings {
        unit: privacy.unit,
        budget: privacy.budget.map(|budget| (budget.epsilon, budget.delta)),
        weakened: weakened.map(str::to_owned),
        by: by.to_owned(),
    })
}

/// Creates the ledger entry for a new task, if it needs one. A task without privacy is recorded only if the ledger
/// already has entries: its versions then weaken the earlier privacy promises.
pub(crate) fn task_event(task: &TaskRecord, first: &ModelVersionRecord, has_entries: bool) -> Option<Event> {
    // An accepted description has valid terms and limits.
    let promise = task.description.privacy.limits().and_then(|limits| {
        let terms = Terms::of(&task.description).ok().flatten()?;
        let (epsilon, delta) = (Epsilon::new(limits.epsilon).ok()?, Delta::new(limits.delta).ok()?);
        Some(Promise { epsilon, delta, charge: terms.charge })
    });
    let warm_start = first.making.warm_start.map(|start| (start.task_id, start.version));
    let is_written = promise.is_some() || has_entries;
    is_written.then_some(Event::Task(TaskTerms { task_id: task.id, promise, warm_start }))
}

/// The charge for a task whose clients add the noise to their own updates.
#[derive(Clone, Copy, Debug)]
pub struct CollectionCharge<'a> {
    /// The organisation of the task.
    pub organisation_id: OrganisationId,
    /// The task.
    pub task_id: TaskId,
    /// The round whose first update is about to be accepted.
    pub round_id: RoundId,
    /// The charge, and the state of the population for which it was checked. If `leave.charge` is `None`, nothing is
    /// written.
    pub leave: Leave<'a>,
    /// The current time.
    pub now: Timestamp,
}

/// Stores the privacy ledgers, one per population. A version and its charge are stored atomically by
/// [`crate::RoundRepository::commit_round`].
#[async_trait]
pub trait LedgerRepository {
    /// Lists a population's entries after sequence number `after`, in order, at most `limit`.
    async fn ledger_entries(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Entry>, StorageError>;

    /// Returns the totals of a population's ledger.
    async fn ledger_sum(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<LedgerSum, StorageError>;

    /// Charges a task whose clients add the noise. Call this before the first of their updates is accepted. Repeated
    /// calls charge the task only once.
    ///
    /// # Errors
    /// [`StorageError::LeaveConflict`] if the population has changed since the charge was checked. In that case,
    /// nothing is charged.
    async fn charge_collection(&self, charge: &CollectionCharge<'_>) -> Result<(), StorageError>;

    /// Records the blobs of a version that is about to be released, in addition to those of earlier attempts. If the
    /// version is not committed, these blobs must be deleted: the next attempt draws new noise, and two noisy copies of
    /// one sum reveal more than was charged. The commit removes the blobs of its version from the record.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently.
    async fn note_unreleased(&self, record: &RoundRecord, blobs: &[BlobDigest]) -> Result<(), StorageError>;

    /// Lists the blobs that were recorded for a round and never released.
    async fn unreleased(&self, round_id: RoundId) -> Result<Vec<BlobDigest>, StorageError>;

    /// Removes these blobs from the record of a round, after they were deleted.
    async fn forget_unreleased(&self, round_id: RoundId, blobs: &[BlobDigest]) -> Result<(), StorageError>;
}
