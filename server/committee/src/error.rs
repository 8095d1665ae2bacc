use std::{io, path::PathBuf};

use folkmoot_secure_aggregation::{CommitteeError, RingError};

/// Why a member gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// The question breaks the protocol.
    #[error(transparent)]
    Committee(#[from] CommitteeError),
    /// The plan is not one of a task with a committee.
    #[error("the plan is invalid: {0}")]
    Plan(String),
    /// No ring is large enough.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The sum is larger than this member takes.
    #[error("the sum has {found} values, but this member sums at most {most}; raise --values-max")]
    TooManyValues {
        /// The number of values.
        found: u64,
        /// The largest number.
        most: u64,
    },
    /// A file of the member failed.
    #[error(transparent)]
    File(#[from] MemberFileError),
}

impl MemberError {
    /// Returns the code of the refusal.
    pub fn code(&self) -> &'static str {
        match self {
            MemberError::Committee(error) => error.code(),
            MemberError::Plan(_) | MemberError::Ring(_) => "plan",
            MemberError::TooManyValues { .. } => "too_many_values",
            MemberError::File(_) => "internal",
        }
    }
}

/// A file in the member's data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MemberFileError {
    /// The operating system failed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is damaged.
    #[error("{path} is damaged: {detail}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        detail: String,
    },
    /// The member has keys, but not the list of its answers.
    #[error(
        "{0} is missing, and without it this member could answer twice for a round; start a new member in an empty folder, and \
         name its key in new tasks"
    )]
    AnswersLost(PathBuf),
    /// Another process uses the folder.
    #[error("another process uses {0}; each member needs a data folder of its own")]
    InUse(PathBuf),
    /// The operating system gave no random bytes.
    #[error("the operating system provided no random bytes: {0}")]
    Random(String),
}

impl MemberFileError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| MemberFileError::Io { path, source }
    }
}
