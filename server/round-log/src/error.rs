use std::{
    io,
    path::{Path, PathBuf},
};

use folkmoot_protocol::AssignmentId;

/// The error of a round log operation.
#[derive(Debug, thiserror::Error)]
pub enum RoundLogError {
    /// The assignment has no segment.
    #[error("assignment {0} has no segment in the round log")]
    NotFound(AssignmentId),
    /// Another writer has the segment open, in this process or in another one.
    #[error("another request or process is writing the update of assignment {0}; retry when it has ended")]
    Busy(AssignmentId),
    /// The requested length is more than the segment's length.
    #[error("the segment has only {len} bytes, so it cannot be truncated to {wanted}")]
    TooShort {
        /// The segment's length in bytes.
        len: u64,
        /// The requested length in bytes.
        wanted: u64,
    },
    /// The file system failed.
    #[error("the round log failed at {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl RoundLogError {
    /// Adds the path to an I/O error.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> RoundLogError + use<> {
        let path = path.to_owned();
        move |source| RoundLogError::Io { path, source }
    }
}
