//! The collection of what nothing needs, between two steps of the coordinator. Nothing is in progress then, so it deletes at
//! once: a blob that is still needed is missed in the next step.

use folkmoot_objects::BlobStore;
use folkmoot_protocol::{BlobDigest, Timestamp};
use folkmoot_rounds::collection::{CollectError, Collection, drop_old_versions};
use folkmoot_storage::{BlobNames, ModelVersionRepository, RoundRepository, TaskRepository};

use super::World;
use crate::{
    invariants::{Broken, Holds, broken, holds},
    scenario::Sabotage,
};

/// The number of ticks from one collection to the next.
const TICKS: u64 = 16;
/// A time at which every blob of the test is old, because blobs have the time of the real clock.
const FAR: Timestamp = Timestamp(9_000_000_000_000_000);

impl From<CollectError> for Broken {
    fn from(error: CollectError) -> Self {
        broken("the_collection_does_not_fail", error.to_string())
    }
}

impl World {
    pub(super) async fn collect(&mut self) -> Holds {
        self.server.ticks += 1;
        let Some(coordinator) = self.server.coordinator.clone() else { return Ok(()) };
        if !self.server.ticks.is_multiple_of(TICKS) {
            return Ok(());
        }
        // A pending fault must occur in a step.
        let armed = self.server.store.disarm();
        let dropped = drop_old_versions(&coordinator, self.server_now()).await;
        dropped.map_err(|error| broken("the_collection_does_not_fail", error.to_string()))?;
        let mut names = self.storage.blob_names(FAR).await?;
        if self.sabotage == Some(Sabotage::NothingIsNeeded) {
            names = BlobNames::default();
        }
        self.keep_copies(&names).await?;
        coordinator.blobs.note_database(self.organisation).await.map_err(CollectError::from)?;
        for _ in 0..2 {
            let collection = Collection::begin(&coordinator.blobs, self.organisation, FAR).await?;
            collection.at_once().end(&names, false).await?;
        }
        self.coverage.count("collections");
        self.check_needed_blobs().await?;
        self.server.store.fail_next(armed);
        Ok(())
    }

    /// Copies what is about to be deleted, for checks of earlier rounds.
    async fn keep_copies(&mut self, names: &BlobNames) -> Holds {
        let store = BlobStore::new(self.server.store.clone());
        for blob in store.inventory().await.map_err(CollectError::from)?.stored {
            if !names.needed.contains(&blob.digest) {
                let bytes = store.get(blob.digest).await.map_err(CollectError::from)?;
                self.ledger.deleted.insert(blob.digest, bytes);
            }
        }
        Ok(())
    }

    /// Checks that the coordinator can go on: the blobs of the tasks, of their newest versions, and of the versions from which
    /// open rounds start exist.
    async fn check_needed_blobs(&self) -> Holds {
        let store = BlobStore::new(self.server.store.clone());
        for task in &self.tasks {
            let Some(record) = self.storage.task_of_any_organisation(task.id).await? else { continue };
            let mut needed: Vec<BlobDigest> = vec![record.model, record.plan];
            let newest = self.storage.latest_model_version(task.id).await?;
            let mut numbers: Vec<u64> = newest.iter().map(|version| version.number).collect();
            for open in self.storage.unfinished_rounds(task.id).await? {
                numbers.push(open.round.base_version);
            }
            for number in numbers {
                let version = self.storage.model_version(task.id, number).await?;
                needed.extend(version.iter().flat_map(|version| version.blobs()));
            }
            for digest in needed {
                let exists = store.exists(digest).await.map_err(CollectError::from)?;
                holds("what_is_needed_is_kept", exists, || format!("the blob {digest} is missing"))?;
            }
        }
        Ok(())
    }
}
