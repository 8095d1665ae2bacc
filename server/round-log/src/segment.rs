use super::{RoundLogError, folder::FileSegment, memory::MemorySegment};

/// A handle that appends to the segment of one update.
///
/// A segment has one writer at a time: another [`super::RoundLog::open`] returns [`RoundLogError::Busy`] until
/// this handle is dropped. In a folder, every call blocks on the disk.
#[derive(Debug)]
pub struct LogSegment {
    place: Place,
}

/// The backend that holds the bytes.
#[derive(Debug)]
enum Place {
    File(FileSegment),
    Memory(MemorySegment),
}

impl LogSegment {
    /// Returns the length in bytes. After a crash, the upload continues at this position.
    ///
    /// After a power failure, bytes that were not synced may be missing or wrong, even though the length is consistent.
    /// Verify the digest of the whole update.
    pub fn len(&self) -> u64 {
        match &self.place {
            Place::File(file) => file.len(),
            Place::Memory(memory) => memory.len(),
        }
    }

    /// Returns whether the segment has no bytes yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends bytes. If this fails, the segment keeps its previous length.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails, for example because it is full.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), RoundLogError> {
        match &mut self.place {
            Place::File(file) => file.append(bytes),
            Place::Memory(memory) => {
                memory.append(bytes);
                Ok(())
            }
        }
    }

    /// Truncates the segment to `len` bytes.
    ///
    /// # Errors
    /// [`RoundLogError::TooShort`] if the segment has fewer than `len` bytes; [`RoundLogError::Io`] if the disk fails.
    pub fn truncate(&mut self, len: u64) -> Result<(), RoundLogError> {
        match &mut self.place {
            Place::File(file) => file.truncate(len),
            Place::Memory(memory) => memory.truncate(len),
        }
    }

    /// Syncs the bytes, and the folders that contain the segment's name, to disk.
    ///
    /// # Errors
    /// [`RoundLogError::NotFound`] if the segment or its round was removed after the segment was opened.
    /// [`RoundLogError::Io`] if the disk fails; in that case, treat the bytes as lost.
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
