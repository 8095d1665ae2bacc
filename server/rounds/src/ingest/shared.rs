//! Updates in a store that several coordinators share.

use std::sync::PoisonError;

use folkmoot_protocol::{AssignmentId, RoundId, UpdateDigest};
use folkmoot_storage::{AcceptedUpdate, LogReader, UpdatePlace, UpdateStore, UpdateStoreError};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use super::Ingest;

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
    /// stored already.
    ///
    /// # Errors
    /// Fails if the log cannot be read or the store fails.
    pub async fn keep(&self, update: &mut AcceptedUpdate) -> Result<(), UpdateStoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let (id, round) = (update.assignment_id, update.round_id);
        let place = match self.place_of(id, update.digest) {
            Some(place) => place,
            None => store.put(round, self.log.read(round, id)?).await?,
        };
        self.remember(id, Stored { round, digest: update.digest, place: place.clone() });
        update.place = Some(place);
        Ok(())
    }

    /// Copies those of these updates into the round log that other processes have received.
    ///
    /// This process may have received the beginning of such an update, and have added its values to the running sum.
    /// These values are subtracted first, while the log still has them.
    ///
    /// # Errors
    /// Fails if the log or the store fails. The next call copies the rest.
    pub async fn gather(&self, accepted: &[AcceptedUpdate]) -> Result<(), UpdateStoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let missing = accepted.iter().filter_map(|update| {
            let place = update.place.as_ref()?;
            (self.place_of(update.assignment_id, update.digest).as_ref() != Some(place))
                .then_some((update, place))
        });
        let missing: Vec<_> = missing.collect();
        for (update, _) in &missing {
            self.forget_upload(update.assignment_id);
            if let Some(sum) = self.known_sum(update.round_id)
                && let Err(error) = sum.expel(&self.log, update.assignment_id)
            {
                self.forget_sum(update.round_id);
                return Err(error.into());
            }
        }
        let copies = missing.into_iter().map(|(update, place)| self.copy(store, update, place).boxed());
        stream::iter(copies.collect::<Vec<_>>()).buffer_unordered(COPIES_MAX).try_collect().await
    }

    async fn copy(
        &self,
        store: &UpdateStore,
        update: &AcceptedUpdate,
        place: &UpdatePlace,
    ) -> Result<(), UpdateStoreError> {
        let (id, round) = (update.assignment_id, update.round_id);
        store.fetch(place, self.log.copy(round, id)?).await?;
        self.remember(id, Stored { round, digest: update.digest, place: place.clone() });
        Ok(())
    }

    /// Stores the bytes `range` of an unfinished update, so that its client can continue at another process. Does
    /// nothing without a store.
    pub(super) fn hand_over(&self, round: RoundId, id: AssignmentId, range: std::ops::Range<u64>) {
        let Some(store) = self.store.clone() else { return };
        let Ok(reader) = self.log.read(round, id) else { return };
        // The request whose connection broke is over before the bytes are stored.
        tokio::spawn(async move {
            if let Err(error) = hand_over(&store, reader, round, id, range).await {
                tracing::debug!(%error, assignment = %id, "a part of an update was not stored; its client may have to send it again");
            }
        });
    }

    /// Copies the beginning of an update into the round log that another process has received, if this process has
    /// received nothing of it. Does nothing without a store.
    ///
    /// # Errors
    /// Fails if the log or the store fails.
    pub async fn take_over(&self, round: RoundId, id: AssignmentId) -> Result<(), UpdateStoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        if self.log.read(round, id).is_ok_and(|reader| !reader.is_empty()) {
            return Ok(());
        }
        store.fetch_parts(round, id, self.log.copy(round, id)?).await.map(drop)
    }

    /// Deletes the stored updates of a round that has ended.
    pub(crate) fn forget_stored(&self, round: RoundId) {
        let Some(store) = self.store.clone() else { return };
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, stored| stored.round != round);
        tokio::spawn(async move {
            if let Err(error) = store.forget_round(round).await {
                tracing::warn!(%error, %round, "the stored updates of a round could not be deleted; the next clean-up tries again");
            }
        });
    }

    /// Returns the place of an update that is both stored and in the round log of this process.
    fn place_of(&self, id: AssignmentId, digest: UpdateDigest) -> Option<UpdatePlace> {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.get(&id).filter(|stored| stored.digest == digest).map(|stored| stored.place.clone())
    }

    fn remember(&self, id: AssignmentId, stored: Stored) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).insert(id, stored);
    }
}

async fn hand_over(
    store: &UpdateStore,
    mut reader: LogReader,
    round: RoundId,
    id: AssignmentId,
    range: std::ops::Range<u64>,
) -> Result<(), UpdateStoreError> {
    let offset = range.start;
    let read = tokio::task::spawn_blocking(move || {
        reader.seek(range.start)?;
        let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(usize::MAX)];
        let count = reader.read_tile(&mut bytes)?;
        bytes.truncate(count);
        Ok::<_, UpdateStoreError>(bytes)
    });
    let bytes = read.await.map_err(|_| UpdateStoreError::Closing)??;
    store.put_part(round, id, offset, bytes.into()).await
}
