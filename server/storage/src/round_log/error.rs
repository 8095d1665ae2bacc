use std::{
    io,
    path::{Path, PathBuf},
};

use folkmoot_protocol::AssignmentId;

/// Why the round log could not do something.
#[derive(Debug, thiserror::Error)]
pub enum RoundLogError {
    /// The assignment has no segment.
    #[error("assignment {0} has no segment in the round log")]
    NotFound(AssignmentId),
    /// Somebody else writes the segment, in this process or in another.
    #[error("the segment of assignment {0} is being written")]
    Busy(AssignmentId),
    /// A segment cannot be cut to more than it holds.
    #[error("the segment ends at byte {len}, before byte {wanted}")]
    TooShort {
        /// Where it ends.
        len: u64,
        /// Where it was to be cut.
        wanted: u64,
    },
    /// The file system failed.
    #[error("the round log failed at {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl RoundLogError {
    /// Adds the path to what the file system said.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> RoundLogError + use<> {
        let path = path.to_owned();
        move |source| RoundLogError::Io { path, source }
    }
}
