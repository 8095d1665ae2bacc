use std::collections::BTreeMap;

use bytes::Bytes;
use folkmoot_protocol::BlobDigest;

/// Blobs whose digest was verified, the least recently used first to go.
#[derive(Debug)]
pub(crate) struct BlobCache {
    bytes_max: usize,
    bytes: usize,
    /// Counts the uses: a blob's last one orders it.
    uses: u64,
    blobs: BTreeMap<BlobDigest, (u64, Bytes)>,
}

impl BlobCache {
    /// Makes a cache that holds at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, uses: 0, blobs: BTreeMap::new() }
    }

    /// Returns the blob, and remembers that it was used.
    pub(crate) fn get(&mut self, digest: &BlobDigest) -> Option<Bytes> {
        let (last_use, blob) = self.blobs.get_mut(digest)?;
        self.uses += 1;
        *last_use = self.uses;
        Some(blob.clone())
    }

    /// Keeps a blob, at the expense of those that were not used for longest. One that alone is larger than
    /// the cache is not kept.
    pub(crate) fn insert(&mut self, digest: BlobDigest, blob: Bytes) {
        if blob.len() > self.bytes_max || self.get(&digest).is_some() {
            return;
        }
        while self.bytes + blob.len() > self.bytes_max {
            self.evict_one();
        }
        self.bytes += blob.len();
        self.uses += 1;
        self.blobs.insert(digest, (self.uses, blob));
    }

    /// Forgets a blob.
    pub(crate) fn remove(&mut self, digest: &BlobDigest) {
        if let Some((_, blob)) = self.blobs.remove(digest) {
            self.bytes -= blob.len();
        }
    }

    /// A deployment serves few blobs at a time, and they are large: a scan is cheap beside what it frees.
    fn evict_one(&mut self) {
        let oldest = self.blobs.iter().min_by_key(|(_, (last_use, _))| *last_use).map(|(digest, _)| *digest);
        if let Some(oldest) = oldest {
            self.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(cache: &mut BlobCache, text: &'static str) -> BlobDigest {
        let digest = BlobDigest::of(text.as_bytes());
        cache.insert(digest, Bytes::from_static(text.as_bytes()));
        digest
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut cache = BlobCache::new(6);
        let [first, second] = [insert(&mut cache, "one"), insert(&mut cache, "two")];
        assert!(cache.get(&first).is_some());
        let third = insert(&mut cache, "six");
        assert_eq!([first, second, third].map(|digest| cache.get(&digest).is_some()), [true, false, true]);
        assert_eq!(cache.bytes, 6);
    }

    #[test]
    fn what_is_too_large_pushes_nothing_out() {
        let mut cache = BlobCache::new(6);
        let kept = insert(&mut cache, "one");
        let refused = insert(&mut cache, "one and more");
        assert!(cache.get(&kept).is_some() && cache.get(&refused).is_none());
        insert(&mut cache, "one");
        assert_eq!(cache.bytes, 3);
    }
}
