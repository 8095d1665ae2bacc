//! Blobs that were set aside: nothing referred to them when somebody looked, and they wait until that is certain.
//!
//! A blob that was set aside is out of the way, but not gone: [`BlobStore::get`] and [`BlobStore::exists`] bring it back.
//! So a process that stores a blob, or finds that it exists, and refers to it soon afterwards never loses it, although
//! another process deletes at the same time.

use std::{collections::BTreeSet, path::Path, time::SystemTime};

use folkmoot_protocol::{BlobDigest, OrganisationId, Timestamp};
use futures::TryStreamExt;
use object_store::{Error, ObjectMeta, ObjectStoreExt, path::Path as ObjectPath};

use super::blob::{BlobStore, BlobStoreError, folder_error, not_found, path_of};

/// The folder of blobs that were set aside. Their names are `<digest>-<milliseconds since 1970>`.
const ASIDE: &str = "unused";
/// The folder of the databases that use the store: an empty object for each.
const DATABASES: &str = "databases";

/// A blob in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// The digest.
    pub digest: BlobDigest,
    /// The size in bytes.
    pub bytes: u64,
    /// When the blob was last stored, by the clock of the store.
    pub stored_at: Timestamp,
}

/// A blob that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsideBlob {
    /// The digest.
    pub digest: BlobDigest,
    /// The size in bytes.
    pub bytes: u64,
    /// When the blob was set aside.
    pub since: Timestamp,
}

/// Everything in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The blobs.
    pub stored: Vec<StoredBlob>,
    /// The blobs that were set aside.
    pub aside: Vec<AsideBlob>,
    /// The databases that use the store, each by the id of its first organisation.
    pub databases: BTreeSet<OrganisationId>,
}

impl BlobStore {
    /// Records that a database uses this store, so that nobody deletes its blobs for another database.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the store fails.
    pub async fn note_database(&self, id: OrganisationId) -> Result<(), BlobStoreError> {
        self.store.put(&ObjectPath::from_iter([DATABASES, &id.to_string()]), Vec::new().into()).await?;
        Ok(())
    }

    /// Lists everything in the store, in no particular order.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the store fails.
    pub async fn inventory(&self) -> Result<Inventory, BlobStoreError> {
        let mut inventory = Inventory::default();
        let mut all = self.store.list(None);
        while let Some(ObjectMeta { location, size: bytes, last_modified, .. }) = all.try_next().await? {
            let Some(name) = location.filename() else { continue };
            let is_in = |folder: &str| location.parts().next().is_some_and(|first| first.as_ref() == folder);
            if is_in(DATABASES) {
                inventory.databases.extend(name.parse::<OrganisationId>());
            } else if is_in(ASIDE) {
                let named = name.split_once('-').map(|(digest, since)| (digest.parse(), since.parse()));
                if let Some((Ok(digest), Ok(since))) = named {
                    inventory.aside.push(AsideBlob { digest, bytes, since: Timestamp(since) });
                }
            } else if let Ok(digest) = name.parse() {
                let stored_at = Timestamp(u64::try_from(last_modified.timestamp_millis()).unwrap_or(0));
                inventory.stored.push(StoredBlob { digest, bytes, stored_at });
            }
        }
        Ok(inventory)
    }

    /// Sets a blob aside. Returns `false` if there is no such blob.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the store fails.
    pub async fn set_aside(&self, digest: BlobDigest, now: Timestamp) -> Result<bool, BlobStoreError> {
        self.cache().remove(&digest);
        // A large object takes a while. Nobody has to wait for it: a blob that is stored meanwhile has the same bytes.
        match self.store.rename(&path_of(&digest), &aside_path(digest, now)).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Brings a blob back that was set aside. Returns `false` if there is none. The copy that was set aside stays.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the store fails.
    pub async fn bring_back(&self, digest: BlobDigest) -> Result<bool, BlobStoreError> {
        for AsideBlob { digest, since, .. } in self.aside(digest).await? {
            match self.store.copy(&aside_path(digest, since), &path_of(&digest)).await {
                Ok(()) => return Ok(true),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Deletes what was set aside at `since`, if it exists.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the store fails.
    pub async fn delete_aside(&self, digest: BlobDigest, since: Timestamp) -> Result<(), BlobStoreError> {
        match self.store.delete(&aside_path(digest, since)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists the copies of a blob that were set aside.
    pub(super) async fn aside(&self, digest: BlobDigest) -> Result<Vec<AsideBlob>, BlobStoreError> {
        let digits = format!("{digest}-");
        let aside = self.store.list(Some(&ObjectPath::from(ASIDE))).map_ok(|meta| {
            let since = meta.location.filename()?.strip_prefix(&digits)?.parse().ok()?;
            Some(AsideBlob { digest, bytes: meta.size, since: Timestamp(since) })
        });
        Ok(aside.try_collect::<Vec<_>>().await?.into_iter().flatten().collect())
    }

    /// Returns the size of a blob that was set aside.
    pub(super) async fn aside_size(&self, digest: BlobDigest) -> Result<u64, BlobStoreError> {
        let found = self.aside(digest).await?;
        found.first().map(|blob| blob.bytes).ok_or(BlobStoreError::NotFound(digest))
    }

    /// Deletes the partial files that processes left in a local store when they were killed, if they are older than
    /// `before`. Returns their number and their size in bytes. An object storage has none.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if a file cannot be read or deleted.
    pub async fn delete_partial(
        &self,
        before: Timestamp,
        is_dry: bool,
    ) -> Result<(u64, u64), BlobStoreError> {
        let Some(folder) = self.folder.clone() else { return Ok((0, 0)) };
        let deleted = tokio::task::spawn_blocking(move || delete_partial(&folder, before, is_dry)).await;
        deleted.map_err(|source| BlobStoreError::Store(Error::JoinError { source }))?
    }

    /// Reads an object, and brings the blob back if it was set aside.
    pub(super) async fn read(&self, digest: BlobDigest) -> Result<bytes::Bytes, BlobStoreError> {
        let found = match self.store.get(&path_of(&digest)).await {
            Err(Error::NotFound { .. }) => {
                // Somebody may be bringing it back at this moment, so that it is not there any more.
                Box::pin(self.bring_back(digest)).await?;
                self.store.get(&path_of(&digest)).await
            }
            found => found,
        };
        Ok(found.map_err(|error| not_found(digest, error))?.bytes().await?)
    }
}

fn delete_partial(folder: &Path, before: Timestamp, is_dry: bool) -> Result<(u64, u64), BlobStoreError> {
    let (mut files, mut bytes) = (0, 0);
    for folder in std::fs::read_dir(folder).map_err(folder_error)? {
        let folder = folder.map_err(folder_error)?.path();
        if !folder.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(folder).map_err(folder_error)? {
            let path = file.map_err(folder_error)?.path();
            let Some(size) = partial_size(&path, before) else { continue };
            (files, bytes) = (files + 1, bytes + size);
            if !is_dry {
                std::fs::remove_file(&path).map_err(folder_error)?;
            }
        }
    }
    Ok((files, bytes))
}

fn aside_path(digest: BlobDigest, since: Timestamp) -> ObjectPath {
    ObjectPath::from_iter([ASIDE, &format!("{digest}-{}", since.0)])
}

/// Returns the size of a partial file that was written before `before`: `<digest>#<number>`. `None` for other files.
fn partial_size(path: &Path, before: Timestamp) -> Option<u64> {
    let (digest, _) = path.file_name()?.to_str()?.split_once('#')?;
    digest.parse::<BlobDigest>().ok()?;
    // Its process may just have finished it.
    let found = path.metadata().ok()?;
    let written = found.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    (written.as_millis() < u128::from(before.0)).then_some(found.len())
}
