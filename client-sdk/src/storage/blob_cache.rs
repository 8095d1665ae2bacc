use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use folkmoot_protocol::{BlobDigest, Timestamp, messages::Artifact};

use super::{
    StorageError,
    atomic::{make_private, private, remove_if_present},
};

/// Blobs by SHA-256, with a limit in bytes. The least recently used blobs are evicted first, and pinned ones never.
#[derive(Clone, Debug)]
pub(crate) struct BlobCache {
    directory: PathBuf,
    bytes_max: u64,
    claims: Claims,
    pinned: Arc<Mutex<BTreeSet<PathBuf>>>,
}

/// The partial files that are being written, and their final sizes in bytes.
#[derive(Clone, Debug, Default)]
struct Claims(Arc<Mutex<BTreeMap<PathBuf, u64>>>);

/// The exclusive right to write a partial file, until it is dropped.
#[derive(Debug)]
struct Claim {
    claims: Claims,
    path: PathBuf,
}

/// A blob that is being downloaded.
#[derive(Debug)]
pub(crate) struct PartialBlob {
    artifact: Artifact,
    file: File,
    bytes: u64,
    path: PathBuf,
    whole_path: PathBuf,
    _claim: Claim,
}

impl BlobCache {
    /// Creates the directory if it does not exist.
    pub fn open(directory: &Path, bytes_max: u64) -> Result<Self, StorageError> {
        make_private(directory).map_err(|error| StorageError::at(directory, error))?;
        Ok(Self { directory: directory.into(), bytes_max, claims: Claims::default(), pinned: Arc::default() })
    }

    /// Returns the maximum number of bytes that the cache may hold.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Keeps these blobs until others are pinned, whatever room is needed.
    pub fn pin(&self, artifacts: &[Artifact]) {
        let paths = artifacts.iter().map(|artifact| self.path(artifact.digest)).collect();
        *self.pinned.lock().unwrap_or_else(PoisonError::into_inner) = paths;
    }

    /// Returns whether a file of the right size is present. Does not read the file.
    pub fn seems_to_hold(&self, artifact: Artifact) -> bool {
        fs::metadata(self.path(artifact.digest)).is_ok_and(|metadata| metadata.len() == artifact.bytes)
    }

    /// Reads and verifies a blob. A damaged blob is deleted and treated as missing.
    pub fn read(&self, artifact: Artifact, now: Timestamp) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(artifact.digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if BlobDigest::of(&bytes) != artifact.digest {
            tracing::warn!(file = %path.display(), "a cached blob is damaged and will be fetched again");
            fs::remove_file(&path)?;
            return Ok(None);
        }
        let used_at = UNIX_EPOCH + Duration::from_millis(now.0);
        // Best effort: the time only affects the order of eviction.
        let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(used_at));
        Ok(Some(bytes))
    }

    /// Starts or resumes a download, after making room for the blob. Fails if another [`PartialBlob`] for the same blob
    /// exists.
    pub fn begin(&self, artifact: Artifact) -> io::Result<PartialBlob> {
        let whole_path = self.path(artifact.digest);
        let path = whole_path.with_added_extension("partial");
        let claim = self.claims.claim(&path, artifact.bytes)?;
        self.make_room()?;
        let mut file = private().append(true).create(true).open(&path)?;
        let mut bytes = file.metadata()?.len();
        if bytes >= artifact.bytes {
            file = private().write(true).create(true).truncate(true).open(&path)?;
            bytes = 0;
        }
        Ok(PartialBlob { artifact, file, bytes, path, whole_path, _claim: claim })
    }

    /// Evicts the least recently used blobs until there is room for everything that is being written.
    fn make_room(&self) -> io::Result<()> {
        let claims = self.claims.lock();
        let wanted: u64 = claims.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
        let pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)?.flatten() {
            if claims.contains_key(&entry.path()) {
                continue;
            }
            let metadata = entry.metadata()?;
            let used_at = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((used_at, metadata.len(), entry.path()));
        }
        files.sort();
        let mut held: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files.into_iter().filter(|(_, _, path)| !pinned.contains(path)) {
            if held.saturating_add(wanted) <= self.bytes_max {
                break;
            }
            remove_if_present(&path).map_err(io::Error::other)?;
            held -= bytes;
        }
        Ok(())
    }

    fn path(&self, digest: BlobDigest) -> PathBuf {
        self.directory.join(digest.to_string())
    }
}

impl Claims {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, u64>> {
        // No code can panic while the map is inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim(&self, path: &Path, bytes: u64) -> io::Result<Claim> {
        let mut claims = self.lock();
        if claims.contains_key(path) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "the blob is already being fetched"));
        }
        claims.insert(path.to_owned(), bytes);
        Ok(Claim { claims: self.clone(), path: path.to_owned() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.lock().remove(&self.path);
    }
}

impl PartialBlob {
    /// Returns the number of bytes downloaded so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends the next bytes.
    pub fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// Verifies the blob and moves it into the cache. Returns `false`, and deletes it, if its digest is wrong.
    pub fn finish(self) -> io::Result<bool> {
        self.file.sync_all()?;
        if BlobDigest::of(&fs::read(&self.path)?) != self.artifact.digest {
            fs::remove_file(&self.path)?;
            return Ok(false);
        }
        fs::rename(&self.path, &self.whole_path)?;
        Ok(true)
    }

    /// Deletes the partial file, because it cannot be completed.
    pub fn discard(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(bytes: &[u8]) -> Artifact {
        Artifact { digest: BlobDigest::of(bytes), bytes: bytes.len() as u64 }
    }

    fn put(cache: &BlobCache, bytes: &[u8]) -> bool {
        let mut partial = cache.begin(artifact(bytes)).unwrap();
        partial.append(bytes).unwrap();
        partial.finish().unwrap()
    }

    #[test]
    fn an_interrupted_blob_is_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        let cache = BlobCache::open(directory.path(), 1000).unwrap();
        cache.begin(artifact(b"weights")).unwrap().append(b"wei").unwrap();
        let mut partial = cache.begin(artifact(b"weights")).unwrap();
        assert_eq!(partial.bytes(), 3);
        assert_eq!(cache.read(artifact(b"weights"), Timestamp(1)).unwrap(), None);
        partial.append(b"ghts").unwrap();
        assert!(partial.finish().unwrap());
        assert_eq!(cache.read(artifact(b"weights"), Timestamp(1)).unwrap(), Some(b"weights".to_vec()));
    }

    #[test]
    fn damaged_bytes_are_neither_stored_nor_served() {
        let directory = tempfile::tempdir().unwrap();
        let cache = BlobCache::open(directory.path(), 1000).unwrap();
        let mut partial = cache.begin(artifact(b"weights")).unwrap();
        partial.append(b"WEIGHTS").unwrap();
        assert!(!partial.finish().unwrap());
        assert!(put(&cache, b"weights"));
        fs::write(cache.path(BlobDigest::of(b"weights")), b"WEIGHTS").unwrap();
        assert_eq!(cache.read(artifact(b"weights"), Timestamp(1)).unwrap(), None);
    }

    #[test]
    fn a_blob_is_written_by_one_at_a_time_and_its_room_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = BlobCache::open(directory.path(), 20).unwrap();
        assert!(put(&cache, b"aaaaaaaa"));
        cache.read(artifact(b"aaaaaaaa"), Timestamp(9000)).unwrap();
        let offered = artifact(b"cccccccc");
        let mut partial = cache.begin(offered).unwrap();
        partial.append(b"c").unwrap();
        let error = cache.clone().begin(offered).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        // One byte of `c` is present and it will have eight, so there is no room for both `a` and `b`.
        assert!(put(&cache, b"bbbbbbbb"));
        assert!(!cache.seems_to_hold(artifact(b"aaaaaaaa")) && cache.seems_to_hold(artifact(b"bbbbbbbb")));
        drop(partial);
        let mut partial = cache.begin(offered).unwrap();
        assert_eq!(partial.bytes(), 1);
        partial.append(b"ccccccc").unwrap();
        assert!(!cache.seems_to_hold(offered), "what is not whole is not there");
        assert!(partial.finish().unwrap() && cache.seems_to_hold(offered));
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let directory = tempfile::tempdir().unwrap();
        let cache = BlobCache::open(directory.path(), 20).unwrap();
        for (second, blob) in [b"aaaaaaaa", b"bbbbbbbb"].into_iter().enumerate() {
            assert!(put(&cache, blob));
            cache.read(artifact(blob), Timestamp(1000 * second as u64)).unwrap();
        }
        cache.read(artifact(b"aaaaaaaa"), Timestamp(9000)).unwrap();
        assert!(put(&cache, b"cccccccc"));
        assert!(cache.read(artifact(b"aaaaaaaa"), Timestamp(9000)).unwrap().is_some());
        assert!(cache.read(artifact(b"bbbbbbbb"), Timestamp(9000)).unwrap().is_none());
    }

    #[test]
    fn pinned_blobs_are_never_evicted() {
        let directory = tempfile::tempdir().unwrap();
        let cache = BlobCache::open(directory.path(), 10).unwrap();
        let held = |bytes: &[u8]| cache.seems_to_hold(artifact(bytes));
        assert!(put(&cache, b"rolled"));
        cache.pin(&[artifact(b"rolled")]);
        assert!(put(&cache, b"one") && put(&cache, b"another"));
        assert!(held(b"rolled") && held(b"another") && !held(b"one"));
        cache.pin(&[]);
        assert!(put(&cache, b"a third"));
        assert!(!held(b"rolled") && !held(b"another"));
    }
}
