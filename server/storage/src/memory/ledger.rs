use async_trait::async_trait;
use folkmoot_privacy::ledger::{Collection, Entry, Event, Release};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId, Timestamp};

use super::{MemoryStorage, State, counts::check_moment};
use crate::{CollectionCharge, Leave, LedgerRepository, LedgerSum, RoundCommit, RoundRecord, StorageError};

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

    async fn ledger_sum(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<LedgerSum, StorageError> {
        let state = self.lock();
        let mut sum = LedgerSum::default();
        for entry in state.ledgers.get(&(organisation_id, population.clone())).into_iter().flatten() {
            sum.entries = entry.sequence;
            sum.totals.count(&entry.event);
        }
        Ok(sum)
    }

    async fn charge_collection(&self, charge: &CollectionCharge<'_>) -> Result<(), StorageError> {
        check_moment(charge.now)?;
        self.lock().charge_collection(charge)
    }

    async fn note_unreleased(&self, record: &RoundRecord, blobs: &[BlobDigest]) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.rounds.check_update(record)?;
        let noted = state.unreleased.entry(record.round.id).or_default();
        noted.extend(blobs.iter().filter(|blob| !noted.contains(blob)).copied().collect::<Vec<_>>());
        Ok(())
    }

    async fn unreleased(&self, round_id: RoundId) -> Result<Vec<BlobDigest>, StorageError> {
        Ok(self.lock().unreleased.get(&round_id).cloned().unwrap_or_default())
    }

    async fn forget_unreleased(&self, round_id: RoundId, blobs: &[BlobDigest]) -> Result<(), StorageError> {
        self.lock().unreleased.entry(round_id).or_default().retain(|blob| !blobs.contains(blob));
        Ok(())
    }
}

impl State {
    /// Checks whether the permission to release a version is still valid.
    pub(super) fn check_leave(
        &self,
        organisation_id: OrganisationId,
        leave: &Leave<'_>,
    ) -> Result<(), StorageError> {
        let Leave { population, privacy, entries, charge } = *leave;
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
        let release = Release {
            task_id: round.task_id,
            round_id: round.id,
            version: commit.version.number,
            charge: *charge,
        };
        self.append(commit.record.organisation_id, population, commit.now, Event::Release(release));
        let released = commit.version.blobs();
        if let Some(noted) = self.unreleased.get_mut(&round.id) {
            noted.retain(|blob| !released.contains(blob));
        }
    }

    fn charge_collection(&mut self, collection: &CollectionCharge<'_>) -> Result<(), StorageError> {
        let CollectionCharge { organisation_id, task_id, round_id, leave, now } = *collection;
        let ledger = self.ledgers.get(&(organisation_id, leave.population.clone())).into_iter().flatten();
        let is_of_task =
            |entry: &Entry| matches!(entry.event, Event::Collection(one) if one.task_id == task_id);
        let Some(charge) = leave.charge.filter(|_| !ledger.into_iter().any(is_of_task)) else {
            return Ok(());
        };
        if !self.tasks.is_of(task_id, organisation_id) {
            return Err(StorageError::NotFound("task"));
        }
        self.check_leave(organisation_id, &leave)?;
        let collection = Collection { task_id, round_id, charge: *charge };
        self.append(organisation_id, leave.population, now, Event::Collection(collection));
        Ok(())
    }

    /// Appends an entry to a ledger.
    pub(super) fn append(
        &mut self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        at: Timestamp,
        event: Event,
    ) {
        let ledger = self.ledgers.entry((organisation_id, population.clone())).or_default();
        let last = ledger.last().map(|last| (last.sequence, last.digest));
        ledger.push(Entry::following(last, population.clone(), at, event));
    }
}
