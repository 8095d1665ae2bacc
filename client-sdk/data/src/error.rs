//! Why a file did not become examples.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// What to do about a file that is not what it says.
pub(crate) const DAMAGED: &str = "the file is damaged or cut off: fetch or write it again";

/// Why a file did not become examples. Every message names the file, the place in it, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system does not hand the file out.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The path does not say what is in it.
    #[error("{}: the name does not say its format; name one (--format {})", path.display(), crate::Format::names())]
    UnknownFormat {
        /// The file or folder.
        path: PathBuf,
    },
    /// There is more than a limit allows. Nothing of that size has been allocated.
    #[error("{}: {found} {what} are more than the limit of {limit}; take a part of it, or raise {setting}",
        path.display())]
    OverLimit {
        /// The file or folder.
        path: PathBuf,
        /// What there is too much of.
        what: &'static str,
        /// How much of it was found, at least.
        found: u64,
        /// How much is allowed.
        limit: u64,
        /// The field of [`crate::Limits`].
        setting: &'static str,
    },
    /// The options ask for something that the format does not have.
    #[error("{}: {fault}", path.display())]
    Options {
        /// The file or folder.
        path: PathBuf,
        /// What does not go together.
        fault: Fault,
    },
    /// The content is not what the format promises, or is of a kind that is not read.
    #[error("{}: {fault}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        fault: Fault,
    },
}

impl DataError {
    pub(crate) fn invalid(path: &Path, fault: Fault) -> Self {
        Self::Invalid { path: path.to_owned(), fault }
    }

    pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Unreadable { path: path.to_owned(), source }
    }
}

/// What is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

impl Fault {
    pub(crate) fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: Place::Whole, reason: reason.into(), remedy: remedy.into() }
    }

    /// A fault that only another copy of the file mends.
    pub(crate) fn damaged(reason: impl Into<String>) -> Self {
        Self::new(reason, DAMAGED)
    }

    pub(crate) fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Whole => write!(formatter, "{}; {}", self.reason, self.remedy),
            place => write!(formatter, "{place}: {}; {}", self.reason, self.remedy),
        }
    }
}

/// A place in a file. Lines, columns, rows, records and examples are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// Nowhere in particular; or the reason says where, because a reader below does.
    Whole,
    /// A record of fixed length.
    Record(u64),
    /// A column of a table.
    Column(String),
    /// A field of a table.
    Field {
        /// The row.
        row: u64,
        /// The column's name.
        column: String,
    },
    /// A file in an archive.
    Member(String),
    /// An example of a LEAF user.
    User {
        /// The user's name.
        name: String,
        /// The example, from 1; 0 before the first.
        example: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => formatter.write_str("the file"),
            Self::Record(record) => write!(formatter, "record {record}"),
            Self::Column(name) => write!(formatter, "column {name}"),
            Self::Field { row, column } => write!(formatter, "row {row}, column {column}"),
            Self::Member(name) => write!(formatter, "member {name}"),
            Self::User { name, example: 0 } => write!(formatter, "user {name}"),
            Self::User { name, example } => write!(formatter, "user {name}, example {example}"),
        }
    }
}
