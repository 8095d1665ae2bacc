use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use folkmoot_protocol::RoundId;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload, path::Path};
use tokio::sync::{Notify, watch};

use super::UpdateStoreError;

/// The maximum size of an update that shares an object with others, in bytes.
pub(super) const UPDATE_BYTES_MAX: u64 = 4 << 20;
/// The size at which an object takes no further update, in bytes.
const OBJECT_BYTES: u64 = 8 << 20;
/// The time for which an object waits for further updates.
const GATHER: Duration = Duration::from_millis(5);

/// The objects that gather updates, at most one per round.
pub(super) struct Groups {
    store: Arc<dyn ObjectStore>,
    gathering: Mutex<HashMap<RoundId, Arc<Group>>>,
    /// Distinguishes the objects of this process.
    next: AtomicU64,
}

/// An object that gathers updates.
struct Group {
    object: String,
    gathered: Mutex<Gathered>,
    is_full: Notify,
    /// The outcome, for all who have added an update.
    outcome: watch::Sender<Option<Result<(), Arc<object_store::Error>>>>,
}

#[derive(Default)]
struct Gathered {
    updates: Vec<Bytes>,
    bytes: u64,
}

impl Groups {
    pub(super) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, gathering: Mutex::default(), next: AtomicU64::new(0) }
    }

    /// Returns a number that this process has not used yet.
    pub(super) fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds an update to the object that gathers updates of this round, and waits until the object is stored. Returns
    /// the object's name and the update's offset.
    pub(super) async fn put(
        self: &Arc<Self>,
        round: RoundId,
        new_object: impl FnOnce() -> String,
        update: Bytes,
    ) -> Result<(String, u64), UpdateStoreError> {
        let (group, offset) = self.add(round, new_object, update);
        let mut outcome = group.outcome.subscribe();
        let ended = outcome.wait_for(Option::is_some).await.map_err(|_| UpdateStoreError::Closing)?;
        match ended.as_ref() {
            Some(Ok(())) => Ok((group.object.clone(), offset)),
            Some(Err(error)) => Err(UpdateStoreError::Group(error.clone())),
            None => Err(UpdateStoreError::Closing),
        }
    }

    fn add(
        self: &Arc<Self>,
        round: RoundId,
        new_object: impl FnOnce() -> String,
        update: Bytes,
    ) -> (Arc<Group>, u64) {
        let mut gathering = self.gathering.lock().unwrap_or_else(PoisonError::into_inner);
        let group = gathering.entry(round).or_insert_with(|| {
            let group = Arc::new(Group {
                object: new_object(),
                gathered: Mutex::default(),
                is_full: Notify::new(),
                outcome: watch::Sender::new(None),
            });
            // A task of its own, so that the object is sent even if the request that began it is cancelled.
            tokio::spawn(self.clone().send(round, group.clone()));
            group
        });
        let group = group.clone();
        let (offset, is_full) = {
            let mut gathered = group.gathered();
            let offset = gathered.bytes;
            gathered.bytes += update.len() as u64;
            gathered.updates.push(update);
            (offset, gathered.bytes >= OBJECT_BYTES)
        };
        if is_full {
            gathering.remove(&round);
            group.is_full.notify_one();
        }
        (group, offset)
    }

    async fn send(self: Arc<Self>, round: RoundId, group: Arc<Group>) {
        tokio::select! {
            () = group.is_full.notified() => {}
            () = tokio::time::sleep(GATHER) => {}
        }
        {
            let mut gathering = self.gathering.lock().unwrap_or_else(PoisonError::into_inner);
            if gathering.get(&round).is_some_and(|current| Arc::ptr_eq(current, &group)) {
                gathering.remove(&round);
            }
        }
        let updates = std::mem::take(&mut group.gathered().updates);
        let payload = PutPayload::from_iter(updates);
        let stored = self.store.put(&Path::from(group.object.as_str()), payload).await;
        group.outcome.send_replace(Some(stored.map(drop).map_err(Arc::new)));
    }
}

impl Group {
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
