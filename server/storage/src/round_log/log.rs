use std::path::{Path, PathBuf};

use folkmoot_protocol::{AssignmentId, RoundId};

use super::{LogReader, LogSegment, RoundLogError, folder::Folder, memory::Memory};

/// A log of the bytes of every update, with one segment per assignment.
///
/// An update is appended while it arrives, and acknowledged when its segment is synced. Aggregators read the update
/// from the log, as often as they need, even after a crash.
///
/// In a folder, the segments are files, `<folder>/<round id>/<assignment id>.update`. Every call blocks on the
/// disk, so async callers use `tokio::task::spawn_blocking`. In memory, no call blocks. A clone is another handle
/// to the same segments.
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

    /// Creates a log that lives until its last handle is dropped, for simulations and tests. A segment is freed
    /// when it is removed.
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

    /// Opens an assignment's segment for appending. It is created if it is missing.
    ///
    /// # Errors
    /// [`RoundLogError::Busy`] while another handle for appending to the segment is open.
    pub fn open(&self, round: RoundId, assignment: AssignmentId) -> Result<LogSegment, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.open(round, assignment).map(LogSegment::from),
            Place::Memory(memory) => memory.open(round, assignment).map(LogSegment::from),
        }
    }

    /// Opens an assignment's segment for reading, even while it is being written.
    ///
    /// # Errors
    /// [`RoundLogError::NotFound`] if there is none.
    pub fn read(&self, round: RoundId, assignment: AssignmentId) -> Result<LogReader, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.read(round, assignment).map(LogReader::from),
            Place::Memory(memory) => memory.read(round, assignment).map(LogReader::from),
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
