//! Updates in a store that several coordinators share.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_objects::{UpdatePlace, UpdateStore, UpdateStoreError};
use folkmoot_protocol::{AssignmentId, RoundId, UpdateDigest};
use folkmoot_round_log::RoundLogError;
use folkmoot_storage::AcceptedUpdate;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use super::{Ingest, RoundSum};
use crate::in_place::in_place;

/// The maximum number of updates that are copied from the store at the same time.
const COPIES_MAX: usize = 8;

/// A stored update whose bytes are in the round log of this process.
pub(super) struct Stored {
    round: RoundId,
    digest: UpdateDigest,
    place: UpdatePlace,
}

impl Ingest {
    /// Stores complete updates in `store` before they are accepted. Another process can then combine them.
    #[must_use]
    pub fn with_store(self, store: UpdateStore) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Returns the store of complete updates, if there is one.
    pub fn store(&self) -> Option<&UpdateStore> {
        self.store.as_ref()
    }

    /// Stores a complete update, and records its place in `update`. Does nothing without a store, or if the update is
    /// stored already. `logged` is the digest of the bytes that this process has written to the log.
    ///
    /// Do not cancel it: the update would be stored without anybody knowing.
    ///
    /// # Errors
    /// Fails if the log cannot be read, does not have these bytes any more, or the store fails.
    pub async fn keep(
        &self,
        update: &mut AcceptedUpdate,
        logged: UpdateDigest,
    ) -> Result<(), UpdateStoreError> {
        let (id, round) = (update.assignment_id, update.round_id);
        if let Some(place) = self.place_of(id, update.digest).filter(|_| self.store.is_some()) {
            update.place = Some(place);
            return Ok(());
        }
        update.place = self.keep_segment((round, id), update.digest, logged).await?;
        Ok(())
    }

    /// Stores a complete segment of the round log, and returns its place. Does nothing without a store. `digest` names its
    /// content, and `logged` is the digest of the bytes in the log.
    ///
    /// # Errors
    /// See [`Ingest::keep`].
    pub async fn keep_segment(
        &self,
        (round, id): (RoundId, AssignmentId),
        digest: UpdateDigest,
        logged: UpdateDigest,
    ) -> Result<Option<UpdatePlace>, UpdateStoreError> {
        let Some(store) = &self.store else { return Ok(None) };
        let place = store.put(round, self.log.read(round, id)?).await?;
        if place.digest != logged {
            return Err(UpdateStoreError::Damaged(place.object));
        }
        self.remember(id, Stored { round, digest, place: place.clone() });
        Ok(Some(place))
    }

    /// Copies updates that other processes have received into the round log. `sum` is the round's running sum, if
    /// updates are summed on arrival; it is closed.
    ///
    /// This process may have received the beginning of such an update, and have added its values to the sum. These
    /// values are subtracted first, while the log still has them.
    ///
    /// # Errors
    /// Fails if the log or the store fails. The next call copies the rest.
    pub async fn gather(
        &self,
        accepted: &[AcceptedUpdate],
        sum: Option<Arc<RoundSum>>,
    ) -> Result<(), UpdateStoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        if let Some(sum) = &sum {
            // From here on, nothing is added of an update that is copied below.
            sum.close();
        }
        let missing = accepted.iter().filter_map(|update| {
            let place = update.place.as_ref()?;
            (self.place_of(update.assignment_id, update.digest).as_ref() != Some(place))
                .then_some((update, place))
        });
        let missing: Vec<_> = missing.collect();
        for (update, _) in &missing {
            self.forget_upload(update.assignment_id);
            if let Some(sum) = &sum
                && let Err(error) = in_place(|| sum.take_out(&self.log, update.assignment_id))
            {
                self.forget_sum(update.round_id);
                return Err(error.into());
            }
        }
        let copies = missing.into_iter().map(|(update, place)| {
            self.copy(store, (update.round_id, update.assignment_id), update.digest, place).boxed()
        });
        stream::iter(copies.collect::<Vec<_>>()).buffer_unordered(COPIES_MAX).try_collect().await
    }

    /// Forgets which updates are in the log, because the log of a round cannot be read. They are then copied from the
    /// store again. Returns `false` if there is no store, or the round was distrusted before.
    pub fn distrust(&self, round: RoundId) -> bool {
        if self.store.is_none() || !lock(&self.distrusted).insert(round) {
            return false;
        }
        // In a flow, the updates lie in the logs of other rounds.
        lock(&self.stored).clear();
        self.forget_sum(round);
        true
    }

    /// Copies a segment that another process has stored into the round log, unless the log has it. Does nothing without a
    /// store.
    ///
    /// # Errors
    /// Fails if the log or the store fails.
    pub async fn gather_segment(
        &self,
        (round, id): (RoundId, AssignmentId),
        digest: UpdateDigest,
        place: &UpdatePlace,
    ) -> Result<(), UpdateStoreError> {
        match &self.store {
            Some(store) if self.place_of(id, digest).as_ref() != Some(place) => {
                self.copy(store, (round, id), digest, place).await
            }
            _ => Ok(()),
        }
    }

    async fn copy(
        &self,
        store: &UpdateStore,
        (round, id): (RoundId, AssignmentId),
        digest: UpdateDigest,
        place: &UpdatePlace,
    ) -> Result<(), UpdateStoreError> {
        store.fetch(place, self.log.copy(round, id)?).await?;
        self.remember(id, Stored { round, digest, place: place.clone() });
        Ok(())
    }

    /// Stores the bytes `range` of an unfinished update, so that its client can continue at another process. Does
    /// nothing without a store.
    pub(super) fn hand_over(&self, round: RoundId, id: AssignmentId, range: Range<u64>) {
        let Some(store) = self.store.clone() else { return };
        let Ok(reader) = self.log.read(round, id) else { return };
        // The request whose connection broke is over before the bytes are stored.
        tokio::spawn(async move {
            if let Err(error) = store.put_parts(round, id, reader, range).await {
                tracing::debug!(%error, assignment = %id, "a part of an update was not stored; its client may have to send it again");
            }
        });
    }

    /// Copies the beginning of an update, which another process has received, into the round log, if this process has
    /// received nothing of the update. Does nothing without a store. Call it only while holding the assignment's slot.
    ///
    /// # Errors
    /// Fails if the log or the store fails.
    pub async fn take_over(&self, round: RoundId, id: AssignmentId) -> Result<(), UpdateStoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let mut segment = match self.log.open(round, id) {
            // A request that is no longer needed still holds the segment.
            Err(RoundLogError::Busy(_)) => return Ok(()),
            segment => segment?,
        };
        if !segment.is_empty() {
            return Ok(());
        }
        store.fetch_parts(round, id, &mut segment).await
    }

    /// Deletes the stored updates of a round that has ended.
    pub fn forget_stored(&self, round: RoundId) {
        let Some(store) = self.store.clone() else { return };
        tokio::spawn(async move {
            if let Err(error) = store.forget_round(round).await {
                tracing::warn!(%error, %round, "the stored updates of a round could not be deleted; the next clean-up tries again");
            }
        });
    }

    /// Forgets which updates of a round are stored and in the log, after they were removed from the log.
    pub fn forget_places(&self, is_gone: impl Fn(AssignmentId, RoundId) -> bool) {
        lock(&self.stored).retain(|id, stored| !is_gone(*id, stored.round));
        lock(&self.distrusted).retain(|round| !is_gone(AssignmentId::from_bytes([0; 16]), *round));
    }

    /// Returns the place of an update that is both stored and in the round log of this process.
    fn place_of(&self, id: AssignmentId, digest: UpdateDigest) -> Option<UpdatePlace> {
        let stored = lock(&self.stored);
        stored.get(&id).filter(|stored| stored.digest == digest).map(|stored| stored.place.clone())
    }

    fn remember(&self, id: AssignmentId, stored: Stored) {
        lock(&self.stored).insert(id, stored);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
