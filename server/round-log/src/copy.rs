use super::{RoundLogError, folder::FileCopy, memory::MemoryCopy};

/// An update that is copied into the log from elsewhere. It replaces the assignment's segment when it is finished;
/// until then, and if it is dropped, the log is unchanged.
///
/// A segment that is open keeps its own bytes. In a folder, every call blocks on the disk. Copies are not synced: the
/// original is safe elsewhere.
#[derive(Debug)]
pub struct LogCopy {
    place: Place,
}

/// The backend that receives the bytes.
#[derive(Debug)]
enum Place {
    File(FileCopy),
    Memory(MemoryCopy),
}

impl LogCopy {
    /// Appends bytes.
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

    /// Makes the copy the assignment's segment.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn finish(self) -> Result<(), RoundLogError> {
        match self.place {
            Place::File(file) => file.finish(),
            Place::Memory(memory) => {
                memory.finish();
                Ok(())
            }
        }
    }
}

impl From<FileCopy> for LogCopy {
    fn from(file: FileCopy) -> Self {
        Self { place: Place::File(file) }
    }
}

impl From<MemoryCopy> for LogCopy {
    fn from(memory: MemoryCopy) -> Self {
        Self { place: Place::Memory(memory) }
    }
}
