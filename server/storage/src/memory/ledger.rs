use async_trait::async_trait;
use folkmoot_privacy::ledger::{Entry, Release, Totals};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId};

use super::{MemoryStorage, State};
use crate::{Leave, LedgerRepository, RoundCommit, StorageError};

#[async_trait]
impl LedgerRepository for MemoryStorage {
    async fn ledger_entries(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Entry>, StorageError> {
        let state = self.lock();
        let entries = state.ledgers.get(&(organisation_id, population.clone()));
        let later = entries.into_iter().flatten().filter(|entry| entry.sequence > after);
        Ok(later.take(limit as usize).cloned().collect())
    }

    async fn ledger_totals(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<Totals, StorageError> {
        let state = self.lock();
        let mut totals = Totals::default();
        for entry in state.ledgers.get(&(organisation_id, population.clone())).into_iter().flatten() {
            totals.add(entry.release.task_id, entry.release.charge, 1);
        }
        Ok(totals)
    }

    async fn note_unreleased(&self, round_id: RoundId, blobs: &[BlobDigest]) -> Result<(), StorageError> {
        self.lock().unreleased.insert(round_id, blobs.to_vec());
        Ok(())
    }

    async fn unreleased(&self, round_id: RoundId) -> Result<Vec<BlobDigest>, StorageError> {
        Ok(self.lock().unreleased.get(&round_id).cloned().unwrap_or_default())
    }

    async fn forget_unreleased(&self, round_id: RoundId) -> Result<(), StorageError> {
        self.lock().unreleased.remove(&round_id);
        Ok(())
    }
}

impl State {
    /// Says whether the leave of a commit still holds.
    pub(super) fn check_leave(&self, commit: &RoundCommit<'_>) -> Result<(), StorageError> {
        let Some(Leave { population, privacy, entries, charge }) = commit.leave else { return Ok(()) };
        let organisation_id = commit.record.organisation_id;
        let settings = self.populations.get(&organisation_id).and_then(|names| names.get(population));
        let ledger = self.ledgers.get(&(organisation_id, population.clone()));
        let has_gone_on = charge.is_some() && ledger.map_or(0, Vec::len) as u64 != entries;
        match settings.map(|record| record.privacy).unwrap_or_default() == privacy && !has_gone_on {
            true => Ok(()),
            false => Err(StorageError::LeaveConflict),
        }
    }

    /// Charges the version that a commit releases.
    pub(super) fn charge(&mut self, commit: &RoundCommit<'_>) {
        let Some(Leave { population, charge: Some(charge), .. }) = commit.leave else { return };
        let round = &commit.record.round;
        let ledger = self.ledgers.entry((commit.record.organisation_id, population.clone())).or_default();
        let last = ledger.last().map(|last| (last.sequence, last.digest));
        let release = Release {
            task_id: round.task_id,
            round_id: round.id,
            version: commit.version.number,
            at: commit.now,
            charge: *charge,
        };
        ledger.push(Entry::following(last, population.clone(), release));
        self.unreleased.remove(&round.id);
    }
}
