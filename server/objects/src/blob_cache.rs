use std::collections::BTreeMap;

use bytes::Bytes;
use folkmoot_protocol::BlobDigest;

/// A cache of verified blobs. The least recently used blob is evicted first.
#[derive(Debug)]
pub(crate) struct BlobCache {
    bytes_max: usize,
    bytes: usize,
    /// The number of uses so far. Each blob records the number at its last use, which orders the blobs.
    uses: u64,
    blobs: BTreeMap<BlobDigest, (u64, Bytes)>,
}

impl BlobCache {
    /// Creates a cache of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, uses: 0, blobs: BTreeMap::new() }
    }

    /// Returns the blob and marks it as used.
    pub(crate) fn get(&mut self, digest: &BlobDigest) -> Option<Bytes> {
        let (last_use, blob) = self.blobs.get_mut(digest)?;
        self.uses += 1;
        *last_use = self.uses;
        Some(blob.clone())
    }

    /// Adds a blob and evicts the least recently used ones. A blob larger than the whole cache is not added.
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

    /// Removes a blob.
    pub(crate) fn remove(&mut self, digest: &BlobDigest) {
        if let Some((_, blob)) = self.blobs.remove(digest) {
            self.bytes -= blob.len();
        }
    }

    /// Evicts the least recently used blob. A linear scan is cheap, because a deployment serves only a few large blobs
    /// at a time.
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
