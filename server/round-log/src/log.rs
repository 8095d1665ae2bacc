use std::path::{Path, PathBuf};

use folkmoot_protocol::{AssignmentId, RoundId};

use super::{LogCopy, LogReader, LogSegment, RoundLogError, folder::Folder, memory::Memory};

/// A log of the bytes of every update, with one segment per assignment.
///
/// The bytes of an update are appended as they arrive. The update is acknowledged after its segment was synced.
/// Aggregators read updates from the log, as often as necessary, even after a crash.
///
/// In a folder, the segments are files, `<folder>/<round id>/<assignment id>.update`. Every call blocks on the disk, so
/// async callers use `tokio::task::spawn_blocking`. In memory, no call blocks. A clone of the log is another handle to
/// the same segments.
#[derive(Clone, Debug)]
pub struct RoundLog {
    place: Place,
}

/// The backend that holds the segments.
#[derive(Clone, Debug)]
enum Place {
    Folder(Folder),
    Memory(Memory),
}

impl RoundLog {
    /// Opens a log in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the folder cannot be created.
    pub fn local(folder: impl Into<PathBuf>) -> Result<Self, RoundLogError> {
        Ok(Self { place: Place::Folder(Folder::new(folder.into())?) })
    }

    /// Creates a log in memory, for simulations and tests. It exists until its last handle is dropped. A segment's
    /// memory is freed when the segment is removed.
    pub fn in_memory() -> Self {
        Self { place: Place::Memory(Memory::default()) }
    }

    /// Returns the folder, or `None` for a log in memory.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder(folder) => Some(folder.path()),
            Place::Memory(_) => None,
        }
    }

    /// Opens an assignment's segment for appending. Creates the segment if it is missing.
    ///
    /// # Errors
    /// [`RoundLogError::Busy`] while the segment is already open for appending; [`RoundLogError::Io`] if the disk
    /// fails.
    pub fn open(&self, round: RoundId, assignment: AssignmentId) -> Result<LogSegment, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.open(round, assignment).map(LogSegment::from),
            Place::Memory(memory) => memory.open(round, assignment).map(LogSegment::from),
        }
    }

    /// Opens an assignment's segment for reading, even while it is being written.
    ///
    /// # Errors
    /// [`RoundLogError::NotFound`] if there is no such segment; [`RoundLogError::Io`] if the disk fails.
    pub fn read(&self, round: RoundId, assignment: AssignmentId) -> Result<LogReader, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.read(round, assignment).map(LogReader::from),
            Place::Memory(memory) => memory.read(round, assignment).map(LogReader::from),
        }
    }

    /// Begins a copy that replaces an assignment's segment when it is finished.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn copy(&self, round: RoundId, assignment: AssignmentId) -> Result<LogCopy, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.copy(round, assignment).map(LogCopy::from),
            Place::Memory(memory) => Ok(memory.copy(round, assignment).into()),
        }
    }

    /// Removes an assignment's segment, if there is one.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn remove_segment(&self, round: RoundId, assignment: AssignmentId) -> Result<(), RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.remove_segment(round, assignment),
            Place::Memory(memory) => {
                memory.remove_segment(round, assignment);
                Ok(())
            }
        }
    }

    /// Removes all segments of a round, if there are any.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn remove_round(&self, round: RoundId) -> Result<(), RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.remove_round(round),
            Place::Memory(memory) => {
                memory.remove_round(round);
                Ok(())
            }
        }
    }

    /// Lists the rounds that have segments, by id.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn rounds(&self) -> Result<Vec<RoundId>, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.rounds(),
            Place::Memory(memory) => Ok(memory.rounds()),
        }
    }

    /// Lists the assignments that have a segment in a round, by id.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn segments(&self, round: RoundId) -> Result<Vec<AssignmentId>, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.segments(round),
            Place::Memory(memory) => Ok(memory.segments(round)),
        }
    }
}
