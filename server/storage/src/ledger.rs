use std::future::Future;

use folkmoot_privacy::ledger::{Entry, Totals};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId};

use crate::StorageError;

/// The privacy ledgers, one of each population. They are written by [`crate::RoundRepository::commit_round`] alone: a
/// version and its charge are stored together or not at all.
pub trait LedgerRepository {
    /// Lists a population's entries after a place, in their order, at most `limit`.
    fn ledger_entries(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Entry>, StorageError>> + Send;

    /// Adds up all of a population's entries.
    fn ledger_totals(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> impl Future<Output = Result<Totals, StorageError>> + Send;

    /// Notes the blobs of a version that is about to be released. Should its commit never come, they are to be deleted:
    /// the next attempt draws other noise, and two noisy copies of one sum tell more than was charged.
    fn note_unreleased(
        &self,
        round_id: RoundId,
        blobs: &[BlobDigest],
    ) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Lists the blobs that were noted for a round and not released since.
    fn unreleased(
        &self,
        round_id: RoundId,
    ) -> impl Future<Output = Result<Vec<BlobDigest>, StorageError>> + Send;

    /// Forgets them: they are deleted.
    fn forget_unreleased(&self, round_id: RoundId) -> impl Future<Output = Result<(), StorageError>> + Send;
}
