use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use folkmoot_protocol::{BlobDigest, Timestamp, messages::Artifact};

use super::{StorageError, atomic::remove_if_present};

/// Blobs by SHA-256, bounded in bytes. What was not used for longest goes first.
#[derive(Clone, Debug)]
pub(crate) struct BlobCache {
    directory: PathBuf,
    bytes_max: u64,
}

/// A blob of which the first bytes are there.
#[derive(Debug)]
pub(crate) struct PartialBlob {
    artifact: Artifact,
    file: File,
    bytes: u64,
    path: PathBuf,
    whole_path: PathBuf,
}

impl BlobCache {
    /// Makes the directory if need be.
    pub fn open(directory: &Path, bytes_max: u64) -> Result<Self, StorageError> {
        fs::create_dir_all(directory).map_err(|error| StorageError::at(directory, error))?;
        Ok(Self { directory: directory.into(), bytes_max })
    }

    /// Returns the bytes that the cache may hold.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Reads a blob and verifies it; one that is damaged is deleted and not there any more.
    pub fn read(&self, artifact: Artifact, now: Timestamp) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(artifact.digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if BlobDigest::of(&bytes) != artifact.digest {
            tracing::warn!(file = %path.display(), "a cached blob is damaged and is fetched again");
            fs::remove_file(&path)?;
            return Ok(None);
        }
        let used_at = UNIX_EPOCH + Duration::from_millis(now.0);
        // The order of eviction is only a guess: not worth a failure.
        let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(used_at));
        Ok(Some(bytes))
    }

    /// Goes on with a blob, or begins it, after making room.
    pub fn begin(&self, artifact: Artifact) -> io::Result<PartialBlob> {
        let whole_path = self.path(artifact.digest);
        let path = whole_path.with_added_extension("partial");
        self.make_room(artifact.bytes, &path)?;
        let mut file = File::options().append(true).create(true).open(&path)?;
        let mut bytes = file.metadata()?.len();
        if bytes >= artifact.bytes {
            file = File::create(&path)?;
            bytes = 0;
        }
        Ok(PartialBlob { artifact, file, bytes, path, whole_path })
    }

    fn make_room(&self, wanted: u64, kept: &Path) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)?.flatten() {
            if entry.path() == kept {
                continue;
            }
            let metadata = entry.metadata()?;
            let used_at = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((used_at, metadata.len(), entry.path()));
        }
        files.sort();
        let mut held: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files {
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

impl PartialBlob {
    /// Returns the number of bytes that are there.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the next bytes.
    pub fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// Verifies the blob and puts it into the cache; returns whether it had its digest. If not, it is deleted.
    pub fn finish(self) -> io::Result<bool> {
        self.file.sync_all()?;
        if BlobDigest::of(&fs::read(&self.path)?) != self.artifact.digest {
            fs::remove_file(&self.path)?;
            return Ok(false);
        }
        fs::rename(&self.path, &self.whole_path)?;
        Ok(true)
    }

    /// Deletes what is there: it cannot be gone on with.
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
}
