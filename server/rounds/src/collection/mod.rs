//! Deletes blobs that no row needs: unused uploads, leftovers of interrupted releases, weights of dropped versions, and
//! states of finalizers that no later version needs.
//!
//! A blob is never deleted directly. It is first set aside, and comes back if somebody asks for it or a row names it. It is
//! deleted when it was set aside for [`ASIDE_MILLISECONDS`] and still no row names it
//! ([decision 0073](../../../../docs/decisions/0073-what-nothing-needs-is-deleted.md)).

mod retention;

use std::collections::BTreeSet;

use folkmoot_objects::{AsideBlob, BlobStore, BlobStoreError, Inventory, StoredBlob};
use folkmoot_protocol::{BlobDigest, OrganisationId, Timestamp};
use folkmoot_storage::BlobNames;
use serde::Serialize;

pub use retention::drop_old_versions;

/// The time, in milliseconds, that an upload may wait for the task that uses it: one day.
const UPLOAD_MILLISECONDS: u64 = 24 * 60 * 60 * 1000;
/// The time, in milliseconds, for which a blob is set aside before it is deleted: one hour. Nobody may need longer from
/// storing or finding a blob to the commit of the row that names it.
pub const ASIDE_MILLISECONDS: u64 = 60 * 60 * 1000;

/// A number of blobs, and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// The number of blobs.
    pub blobs: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl std::ops::Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { blobs: self.blobs + other.blobs, bytes: self.bytes + other.bytes }
    }
}

impl Amount {
    fn count(&mut self, bytes: u64) {
        self.blobs += 1;
        self.bytes += bytes;
    }
}

/// The result of a collection. In a dry run, what it would have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// The blobs that rows need, or that are too new.
    pub kept: Amount,
    /// The blobs that were set aside.
    pub set_aside: Amount,
    /// The blobs that wait until they are deleted.
    pub waiting: Amount,
    /// The blobs that had been set aside and were brought back, because a row names them now.
    pub brought_back: Amount,
    /// The blobs that were deleted.
    pub freed: Amount,
}

/// The reason why nothing was collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The blob store failed.
    #[error(transparent)]
    Blob(#[from] BlobStoreError),
    /// It is not known that the database uses these blobs.
    #[error(
        "no coordinator of this version has noted that the database uses this store of models and weights, so nothing is \
         deleted; check that the database and the store belong together, and start the coordinator once"
    )]
    Unknown,
    /// Another database uses the blobs, too.
    #[error(
        "the store of models and weights is used by other databases, too ({}), so nothing is deleted: this one does not know \
         what they need. Give each database a place of its own in storage.objects",
        .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Shared(BTreeSet<OrganisationId>),
}

/// A collection: first [`Collection::begin`], then a snapshot of the names in the database, then [`Collection::end`].
pub struct Collection<'a> {
    blobs: &'a BlobStore,
    inventory: Inventory,
    now: Timestamp,
    /// The time for which a blob is set aside, in milliseconds.
    aside_milliseconds: u64,
}

impl<'a> Collection<'a> {
    /// Lists the blobs. `database` is the id of the database's first organisation.
    ///
    /// # Errors
    /// [`CollectError`] if another database uses the blobs, [`BlobStore::note_database`] was not called for this one, or the
    /// blob store fails.
    pub async fn begin(
        blobs: &'a BlobStore,
        database: OrganisationId,
        now: Timestamp,
    ) -> Result<Self, CollectError> {
        let mut inventory = blobs.inventory().await?;
        if !inventory.databases.remove(&database) {
            return Err(CollectError::Unknown);
        }
        if !inventory.databases.is_empty() {
            return Err(CollectError::Shared(inventory.databases));
        }
        Ok(Self { blobs, inventory, now, aside_milliseconds: ASIDE_MILLISECONDS })
    }

    /// Deletes at once what was set aside. Only right if no coordinator is running.
    #[must_use]
    pub fn at_once(self) -> Self {
        Self { aside_milliseconds: 0, ..self }
    }

    /// The time from which on the database must list released versions; see [`BlobNames::released`]. Older blobs may be set
    /// aside anyway.
    pub fn released_since(&self) -> Timestamp {
        self.uploads_before()
    }

    /// Sets the blobs aside that no row needs, and deletes those that were set aside long enough. `names` must have been
    /// read after [`Collection::begin`].
    ///
    /// # Errors
    /// [`CollectError::Blob`] if the blob store fails. The next collection continues.
    pub async fn end(self, names: &BlobNames, is_dry: bool) -> Result<Collected, CollectError> {
        let (mut collected, mut failed) = (Collected::default(), None);
        let mut stored: BTreeSet<BlobDigest> = self.inventory.stored.iter().map(|blob| blob.digest).collect();
        for AsideBlob { digest, bytes, since } in &self.inventory.aside {
            let is_needed = names.needed.contains(digest);
            if is_needed && stored.insert(*digest) {
                collected.brought_back.count(*bytes);
                if !is_dry {
                    self.blobs.bring_back(*digest).await?;
                }
            }
            // Also of a blob that was brought back: the copy is not needed any more.
            if self.now.milliseconds_since(*since) >= self.aside_milliseconds {
                if !is_needed {
                    collected.freed.count(*bytes);
                }
                if !is_dry {
                    self.blobs.delete_aside(*digest, *since).await?;
                }
            } else if !is_needed {
                collected.waiting.count(*bytes);
            }
        }
        for StoredBlob { digest, bytes, stored_at } in &self.inventory.stored {
            let waits_for_row = *stored_at > self.uploads_before() && !names.released.contains(digest);
            if names.needed.contains(digest) || waits_for_row {
                collected.kept.count(*bytes);
                continue;
            }
            match if is_dry { Ok(true) } else { self.blobs.set_aside(*digest, self.now).await } {
                Ok(true) => collected.set_aside.count(*bytes),
                Ok(false) => {}
                // The others need not wait for this one.
                Err(error) => failed = Some(error),
            }
        }
        let (files, bytes) = self.blobs.delete_partial(self.uploads_before(), is_dry).await?;
        collected.freed = collected.freed + Amount { blobs: files, bytes };
        failed.map_or(Ok(collected), |error| Err(error.into()))
    }

    /// The time before which uploads must have been used.
    fn uploads_before(&self) -> Timestamp {
        Timestamp(self.now.0.saturating_sub(UPLOAD_MILLISECONDS))
    }
}
