use async_trait::async_trait;
use folkmoot_privacy::ledger::{Entry, Totals};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId, TaskId, Timestamp};

use crate::{Leave, StorageError};

/// What a population's ledger adds up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerSum {
    /// How many entries it has.
    pub entries: u64,
    /// What they cost.
    pub totals: Totals,
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
