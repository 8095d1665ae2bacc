use super::{RoundLogError, folder::FileSegment, memory::MemorySegment};

/// The bytes of one update, as they arrive.
///
/// There is one handle to a segment at a time; another [`super::RoundLog::open`] gets
/// [`RoundLogError::Busy`] until this one is dropped. In a folder every call blocks on the disk.
#[derive(Debug)]
pub struct LogSegment {
    place: Place,
}

/// Where the bytes are.
#[derive(Debug)]
enum Place {
    File(FileSegment),
    Memory(MemorySegment),
}

impl LogSegment {
    /// Returns the number of bytes: after a crash, where the upload goes on.
    ///
    /// Bytes that were not synced before a power failure may be missing from it, never be wrong in number;
    /// the digest of the whole update tells whether they are the right ones.
    pub fn len(&self) -> u64 {
        match &self.place {
            Place::File(file) => file.len(),
            Place::Memory(memory) => memory.len(),
        }
    }

    /// Says whether nothing has arrived yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds bytes at the end. If that fails, the segment ends where it ended before.
    ///
    /// # Errors
    /// [`RoundLogError::Io`], for example when the disk is full.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), RoundLogError> {
        match &mut self.place {
            Place::File(file) => file.append(bytes),
            Place::Memory(memory) => {
                memory.append(bytes);
                Ok(())
            }
        }
    }

    /// Cuts the segment to `len` bytes.
    ///
    /// # Errors
    /// [`RoundLogError::TooShort`] if it holds fewer.
    pub fn truncate(&mut self, len: u64) -> Result<(), RoundLogError> {
        match &mut self.place {
            Place::File(file) => file.truncate(len),
            Place::Memory(memory) => memory.truncate(len),
        }
    }

    /// Returns when the bytes are on the disk, and the segment's name in its folders too.
    ///
    /// # Errors
    /// [`RoundLogError::NotFound`] if the segment was removed, with its round, since it was opened;
    /// [`RoundLogError::Io`] if the disk fails. The bytes must then be taken as lost.
    pub fn sync(&mut self) -> Result<(), RoundLogError> {
        match &mut self.place {
            Place::File(file) => file.sync(),
            Place::Memory(memory) => memory.sync(),
        }
    }
}

impl From<FileSegment> for LogSegment {
    fn from(file: FileSegment) -> Self {
        Self { place: Place::File(file) }
    }
}

impl From<MemorySegment> for LogSegment {
    fn from(memory: MemorySegment) -> Self {
        Self { place: Place::Memory(memory) }
    }
}
