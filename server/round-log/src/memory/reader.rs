use std::sync::Arc;

use super::segment::Shared;

/// A reader of a segment in memory.
#[derive(Debug)]
pub(crate) struct MemoryReader {
    shared: Arc<Shared>,
    /// The segment's length when it was opened.
    len: u64,
    offset: u64,
}

impl MemoryReader {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let len = shared.bytes().len() as u64;
        Self { shared, len, offset: 0 }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn seek(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Fills `tile` with the next bytes and returns their number. The number is less than the length of `tile` only at
    /// the end of the segment; after the last byte it is 0.
    pub(crate) fn read(&mut self, tile: &mut [u8]) -> usize {
        let bytes = self.shared.bytes();
        let rest =
            usize::try_from(self.offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        let count = rest.len().min(tile.len());
        tile[..count].copy_from_slice(&rest[..count]);
        self.offset += count as u64;
        count
    }
}
