use std::path::{Path, PathBuf};

use folkmoot_protocol::{AssignmentId, RoundId};

use super::{LogReader, LogSegment, RoundLogError, folder::Folder, memory::Memory};

/// The bytes of every update, one segment an assignment.
///
/// An update is appended here while it arrives, and is acknowledged when its segment is synced; from here it is
/// combined again after a crash, and as often as an aggregator needs. In a folder the segments are files,
/// `<folder>/<round id>/<assignment id>.update`, and every call blocks on the disk: an async caller makes it in
/// `tokio::task::spawn_blocking`. In memory no call waits. A clone is another handle to the same segments.
#[derive(Clone, Debug)]
pub struct RoundLog {
    place: Place,
}

/// Where the segments are.
#[derive(Clone, Debug)]
enum Place {
    Folder(Folder),
    Memory(Memory),
}

impl RoundLog {
    /// Opens the log in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the folder cannot be made.
    pub fn local(folder: impl Into<PathBuf>) -> Result<Self, RoundLogError> {
        Ok(Self { place: Place::Folder(Folder::new(folder.into())?) })
    }

    /// Makes a log that ends with its last handle, for simulations and tests. A segment goes when it is removed.
    pub fn in_memory() -> Self {
        Self { place: Place::Memory(Memory::default()) }
    }

    /// Returns the folder; none of a log in memory.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder(folder) => Some(folder.path()),
            Place::Memory(_) => None,
        }
    }

    /// Opens an assignment's segment to append to it; it is made if it is missing.
    ///
    /// # Errors
    /// [`RoundLogError::Busy`] while another handle to it is open.
    pub fn open(&self, round: RoundId, assignment: AssignmentId) -> Result<LogSegment, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.open(round, assignment).map(LogSegment::from),
            Place::Memory(memory) => memory.open(round, assignment).map(LogSegment::from),
        }
    }

    /// Opens an assignment's segment to read it, also while it is being written.
    ///
    /// # Errors
    /// [`RoundLogError::NotFound`] if there is none.
    pub fn read(&self, round: RoundId, assignment: AssignmentId) -> Result<LogReader, RoundLogError> {
        match &self.place {
            Place::Folder(folder) => folder.read(round, assignment).map(LogReader::from),
            Place::Memory(memory) => memory.read(round, assignment).map(LogReader::from),
        }
    }

    /// Removes an assignment's segment; none is as well.
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

    /// Removes all of a round's segments; none is as well.
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
