use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use folkmoot_protocol::BlobDigest;
use object_store::{
    ObjectStore, ObjectStoreExt, local::LocalFileSystem, memory::InMemory, path::Path as ObjectPath,
};

use super::blob_cache::BlobCache;

/// The default size of the in-memory cache of verified blobs: 256 MiB.
const CACHE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// The maximum number of blobs that are loaded from the store at the same time.
const LOADS_MAX: usize = 16;

/// The error of a blob operation.
#[derive(Debug, thiserror::Error)]
pub enum BlobStoreError {
    /// There is no such blob.
    #[error("there is no blob {0}")]
    NotFound(BlobDigest),
    /// The stored bytes do not match the digest: the store is damaged.
    #[error("blob {0} is damaged: the digest of its bytes differs from its name; restore it from a backup")]
    Damaged(BlobDigest),
    /// The store failed.
    #[error("the blob store failed: {0}")]
    Store(#[from] object_store::Error),
}

/// A store of immutable blobs (models, weights, plans). A blob's name is the SHA-256 digest of its bytes.
///
/// Verified blobs are cached in memory, up to a limit, and returned without copying. If all clients of a round fetch
/// the same weights, the store is read once and the bytes are hashed once. A clone is another handle to the same store.
#[derive(Clone, Debug)]
pub struct BlobStore {
    pub(super) store: Arc<dyn ObjectStore>,
    /// The folder of a local store; `None` for other stores.
    pub(super) folder: Option<PathBuf>,
    cache: Arc<Mutex<BlobCache>>,
    /// Locks for loading, chosen by digest. While one request loads a blob, concurrent requests for the same blob wait.
    loads: Arc<[tokio::sync::Mutex<()>; LOADS_MAX]>,
}

impl BlobStore {
    /// Opens a store in a folder, which is created if it is missing. Writes are synced to disk.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the folder cannot be created or used.
    pub fn local(folder: impl AsRef<Path>) -> Result<Self, BlobStoreError> {
        std::fs::create_dir_all(&folder).map_err(folder_error)?;
        let store = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(true);
        Ok(Self { folder: Some(folder.as_ref().to_owned()), ..Self::new(Arc::new(store)) })
    }

    /// Creates a store that lives until its last handle is dropped, for tests and simulations.
    pub fn in_memory() -> Self {
        Self::new(Arc::new(InMemory::new()))
    }

    /// Opens any object store, for example S3.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        let cache = Arc::new(Mutex::new(BlobCache::new(CACHE_BYTES_MAX)));
        let folder = None;
        Self { store, folder, cache, loads: Arc::new(std::array::from_fn(|_| tokio::sync::Mutex::new(()))) }
    }

    /// Limits the size of the in-memory cache; 0 disables it.
    #[must_use]
    pub fn with_cache_bytes_max(self, bytes_max: usize) -> Self {
        Self { cache: Arc::new(Mutex::new(BlobCache::new(bytes_max))), ..self }
    }

    /// Checks that the store responds. The check writes nothing.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the store does not respond, or its folder is gone.
    pub async fn check(&self) -> Result<(), BlobStoreError> {
        if let Some(folder) = &self.folder {
            drop(tokio::fs::read_dir(folder).await.map_err(folder_error)?);
        }
        // No blob has this name. A "not found" answer shows that the store responds.
        match self.store.head(&ObjectPath::from("ready")).await {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores a blob and returns its digest. The write is atomic. Storing the same blob again changes nothing, unless
    /// the stored blob is damaged: then it is repaired.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the blob could not be stored.
    pub async fn put(&self, blob: Bytes) -> Result<BlobDigest, BlobStoreError> {
        let digest = digest_of(blob.clone()).await?;
        let _load = self.load_lock(&digest).lock().await;
        self.store.put(&path_of(&digest), blob.clone().into()).await?;
        self.cache().insert(digest, blob);
        Ok(digest)
    }

    /// Returns the blob with this digest, after verifying its bytes. Brings it back if it was set aside.
    ///
    /// # Errors
    /// [`BlobStoreError::NotFound`] if there is no such blob, [`BlobStoreError::Damaged`] if the stored bytes have
    /// another digest, or [`BlobStoreError::Store`] if the store fails.
    pub async fn get(&self, digest: BlobDigest) -> Result<Bytes, BlobStoreError> {
        if let Some(blob) = self.cache().get(&digest) {
            return Ok(blob);
        }
        let _load = self.load_lock(&digest).lock().await;
        if let Some(blob) = self.cache().get(&digest) {
            return Ok(blob);
        }
        let blob = self.read(digest).await?;
        if digest_of(blob.clone()).await? != digest {
            return Err(BlobStoreError::Damaged(digest));
        }
        self.cache().insert(digest, blob.clone());
        Ok(blob)
    }

    /// Deletes a blob, if it exists, also where it was set aside. The caller must know that nothing refers to the blob and that
    /// no other process is storing it: partial writes of the blob are deleted, too.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the blob could not be deleted.
    pub async fn delete(&self, digest: BlobDigest) -> Result<(), BlobStoreError> {
        let _load = self.load_lock(&digest).lock().await;
        self.cache().remove(&digest);
        if let Some(folder) = &self.folder {
            delete_staged(folder, &digest)?;
        }
        for aside in Box::pin(self.aside(digest)).await? {
            self.delete_aside(digest, aside.since).await?;
        }
        match self.store.delete(&path_of(&digest)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether the blob exists, and brings it back if it was set aside. Its bytes are not verified. The answer
    /// does not come from the cache, because another process may have deleted the blob.
    ///
    /// A caller that finds a blob may refer to it in the database within the next minutes, although nothing referred to
    /// it before.
    ///
    /// # Errors
    /// [`BlobStoreError::Store`] if the store does not respond.
    pub async fn exists(&self, digest: BlobDigest) -> Result<bool, BlobStoreError> {
        match self.store.head(&path_of(&digest)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Box::pin(self.bring_back(digest)).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the size of a blob in bytes.
    ///
    /// # Errors
    /// [`BlobStoreError::NotFound`] if there is no such blob, or [`BlobStoreError::Store`] if the store fails.
    pub async fn size(&self, digest: BlobDigest) -> Result<u64, BlobStoreError> {
        if let Some(blob) = self.cache().get(&digest) {
            return Ok(blob.len() as u64);
        }
        match self.store.head(&path_of(&digest)).await {
            Ok(meta) => Ok(meta.size),
            Err(object_store::Error::NotFound { .. }) => Box::pin(self.aside_size(digest)).await,
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, BlobCache> {
        // The cache stays consistent after a panic: at worst, it has lost a blob.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn load_lock(&self, digest: &BlobDigest) -> &tokio::sync::Mutex<()> {
        &self.loads[usize::from(digest.as_bytes()[0]) % LOADS_MAX]
    }
}

/// Returns the path of the blob's object. The first two digits of the digest name a folder, so that no folder grows too
/// large.
pub(super) fn path_of(digest: &BlobDigest) -> ObjectPath {
    let digits = digest.to_string();
    ObjectPath::from_iter([&digits[..2], &digits[..]])
}

/// Deletes a blob's partial files. A local store writes to `<digest>#<number>` and renames the file when it is
/// complete.
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

pub(super) fn folder_error(source: std::io::Error) -> object_store::Error {
    object_store::Error::Generic { store: "blobs", source: source.into() }
}

/// Computes the digest on a blocking thread, because SHA-256 of a large model takes a while.
async fn digest_of(blob: Bytes) -> Result<BlobDigest, BlobStoreError> {
    let digest = tokio::task::spawn_blocking(move || BlobDigest::of(&blob)).await;
    digest.map_err(|source| BlobStoreError::Store(object_store::Error::JoinError { source }))
}

pub(super) fn not_found(digest: BlobDigest, error: object_store::Error) -> BlobStoreError {
    match error {
        object_store::Error::NotFound { .. } => BlobStoreError::NotFound(digest),
        error => BlobStoreError::Store(error),
    }
}
