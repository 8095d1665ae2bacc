use async_trait::async_trait;
use folkmoot_privacy::ledger::{Entry, Totals};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId};

use crate::StorageError;

/// The privacy ledgers, one of each population. They are written by [`crate::RoundRepository::commit_round`] alone: a
/// version and its charge are stored together or not at all.
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
    async fn ledger_totals(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<Totals, StorageError>;

    /// Notes the blobs of a version that is about to be released. Should its commit never come, they are to be deleted:
    /// the next attempt draws other noise, and two noisy copies of one sum tell more than was charged.
    async fn note_unreleased(&self, round_id: RoundId, blobs: &[BlobDigest]) -> Result<(), StorageError>;

    /// Lists the blobs that were noted for a round and not released since.
    async fn unreleased(&self, round_id: RoundId) -> Result<Vec<BlobDigest>, StorageError>;

    /// Forgets them: they are deleted.
    async fn forget_unreleased(&self, round_id: RoundId) -> Result<(), StorageError>;
}
