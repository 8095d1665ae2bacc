use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use folkmoot_protocol::BlobDigest;
use object_store::{
    ObjectStore, ObjectStoreExt, local::LocalFileSystem, memory::InMemory, path::Path as ObjectPath,
};

use crate::blob_cache::BlobCache;

/// Bytes of verified blobs that a store keeps in memory, unless told otherwise: 256 MiB.
const CACHE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How many different blobs can be brought from the store at the same time.
const LOADS_MAX: usize = 16;

/// Why a blob could not be kept or brought.
#[derive(Debug, thiserror::Error)]
pub enum BlobStoreError {
    /// There is no such blob.
    #[error("no blob {0}")]
    NotFound(BlobDigest),
    /// The bytes are not those of the digest: the store is damaged.
    #[error("blob {0} is damaged: its bytes have another digest")]
    Damaged(BlobDigest),
    /// The store failed.
    #[error("the blob store failed: {0}")]
    Store(#[from] object_store::Error),
}

/// Immutable blobs (models, weights, plans), named by the SHA-256 of their bytes.
///
/// What was verified once is kept in memory, up to a bound, and handed out without a copy: the many clients of
/// a round that fetch the same weights cost one read and one hash. A clone is another handle to the same store.
#[derive(Clone, Debug)]
pub struct BlobStore {
    store: Arc<dyn ObjectStore>,
    /// The folder of a local store.
    folder: Option<PathBuf>,
    cache: Arc<Mutex<BlobCache>>,
    /// A blob is loaded under the lock that its digest falls to, so that those who want the same one at the
    /// same time wait for the first.
    loads: Arc<[tokio::sync::Mutex<()>; LOADS_MAX]>,
}

impl BlobStore {
    /// Opens the store in a folder, which is made if it is missing. What was put is on the disk.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the folder cannot be made or used.
    pub fn local(folder: impl AsRef<Path>) -> Result<Self, BlobStoreError> {
        std::fs::create_dir_all(&folder).map_err(folder_error)?;
        let store = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(true);
        Ok(Self { folder: Some(folder.as_ref().to_owned()), ..Self::new(Arc::new(store)) })
    }

    /// Makes a store that ends with its last handle, for tests and simulations.
    pub fn in_memory() -> Self {
        Self::new(Arc::new(InMemory::new()))
    }

    /// Opens any object store, for example one that speaks S3.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        let cache = Arc::new(Mutex::new(BlobCache::new(CACHE_BYTES_MAX)));
        let folder = None;
        Self { store, folder, cache, loads: Arc::new(std::array::from_fn(|_| tokio::sync::Mutex::new(()))) }
    }

    /// Bounds what is kept in memory; 0 keeps nothing.
    #[must_use]
    pub fn with_cache_bytes_max(self, bytes_max: usize) -> Self {
        Self { cache: Arc::new(Mutex::new(BlobCache::new(bytes_max))), ..self }
    }

    /// Looks whether the store answers. Nothing is written.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if it does not, or its folder is gone.
    pub async fn check(&self) -> Result<(), BlobStoreError> {
        if let Some(folder) = &self.folder {
            drop(tokio::fs::read_dir(folder).await.map_err(folder_error)?);
        }
        // No blob has this name: who knows that it is not there has answered.
        match self.store.head(&ObjectPath::from("ready")).await {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps a blob and returns its digest. It is there as a whole or not at all; the same one again changes
    /// nothing, and repairs one that was damaged.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if it could not be kept.
    pub async fn put(&self, blob: Bytes) -> Result<BlobDigest, BlobStoreError> {
        let digest = digest_of(blob.clone()).await?;
        let _load = self.load_lock(&digest).lock().await;
        self.store.put(&path_of(&digest), blob.clone().into()).await?;
        self.cache().insert(digest, blob);
        Ok(digest)
    }

    /// Brings a blob whose bytes have this digest.
    ///
    /// # Errors
    /// [`BlobStoreError::NotFound`], or [`BlobStoreError::Damaged`] if the store's bytes have another digest.
    pub async fn get(&self, digest: BlobDigest) -> Result<Bytes, BlobStoreError> {
        if let Some(blob) = self.cache().get(&digest) {
            return Ok(blob);
        }
        let _load = self.load_lock(&digest).lock().await;
        if let Some(blob) = self.cache().get(&digest) {
            return Ok(blob);
        }
        let found = self.store.get(&path_of(&digest)).await.map_err(|error| not_found(digest, error))?;
        let blob = found.bytes().await?;
        if digest_of(blob.clone()).await? != digest {
            return Err(BlobStoreError::Damaged(digest));
        }
        self.cache().insert(digest, blob.clone());
        Ok(blob)
    }

    /// Deletes a blob; none is as well. Whoever deletes knows that nothing refers to it, and that nobody puts it: what
    /// a process left that ended while it put the blob is deleted, too.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if it could not be deleted.
    pub async fn delete(&self, digest: BlobDigest) -> Result<(), BlobStoreError> {
        let _load = self.load_lock(&digest).lock().await;
        self.cache().remove(&digest);
        if let Some(folder) = &self.folder {
            delete_staged(folder, &digest)?;
        }
        match self.store.delete(&path_of(&digest)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Says whether there is such a blob. Its bytes are not verified.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the store does not answer.
    pub async fn exists(&self, digest: BlobDigest) -> Result<bool, BlobStoreError> {
        match self.size(digest).await {
            Ok(_) => Ok(true),
            Err(BlobStoreError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the number of a blob's bytes.
    ///
    /// # Errors
    /// [`BlobStoreError::NotFound`] if there is no such blob.
    pub async fn size(&self, digest: BlobDigest) -> Result<u64, BlobStoreError> {
        if let Some(blob) = self.cache().get(&digest) {
            return Ok(blob.len() as u64);
        }
        let meta = self.store.head(&path_of(&digest)).await.map_err(|error| not_found(digest, error))?;
        Ok(meta.size)
    }

    fn cache(&self) -> MutexGuard<'_, BlobCache> {
        // A panic leaves the cache consistent: at worst it forgets a blob.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load_lock(&self, digest: &BlobDigest) -> &tokio::sync::Mutex<()> {
        &self.loads[usize::from(digest.as_bytes()[0]) % LOADS_MAX]
    }
}

/// Names the blob's object: the first two digits as a folder, so that no folder grows too large.
fn path_of(digest: &BlobDigest) -> ObjectPath {
    let digits = digest.to_string();
    ObjectPath::from_iter([&digits[..2], &digits[..]])
}

/// Deletes the files in which a local store gathers a blob before it has its name: `<digest>#<number>`.
fn delete_staged(folder: &Path, digest: &BlobDigest) -> Result<(), object_store::Error> {
    let digits = digest.to_string();
    let Ok(files) = std::fs::read_dir(folder.join(&digits[..2])) else { return Ok(()) };
    for file in files {
        let file = file.map_err(folder_error)?;
        let name = file.file_name();
        let staged = name.to_str().and_then(|name| name.strip_prefix(digits.as_str()));
        if staged.is_some_and(|rest| rest.starts_with('#')) {
            std::fs::remove_file(file.path()).map_err(folder_error)?;
        }
    }
    Ok(())
}

fn folder_error(source: std::io::Error) -> object_store::Error {
    object_store::Error::Generic { store: "blobs", source: source.into() }
}

/// Hashes beside the runtime: SHA-256 over a large model takes a while.
async fn digest_of(blob: Bytes) -> Result<BlobDigest, BlobStoreError> {
    let digest = tokio::task::spawn_blocking(move || BlobDigest::of(&blob)).await;
    digest.map_err(|source| BlobStoreError::Store(object_store::Error::JoinError { source }))
}

fn not_found(digest: BlobDigest, error: object_store::Error) -> BlobStoreError {
    match error {
        object_store::Error::NotFound { .. } => BlobStoreError::NotFound(digest),
        error => BlobStoreError::Store(error),
    }
}
