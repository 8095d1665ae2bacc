//! Errors of reading examples.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// The remedy for a damaged file.
pub(crate) const DAMAGED: &str = "the file is damaged or truncated: download or write it again";

/// Why a file or folder could not be read as examples. Every message names the file, the position in it, and a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system cannot open or read the file.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The format does not follow from the path.
    #[error("{}: the name does not show the format; choose one (--format {})", path.display(), crate::Format::names())]
    UnknownFormat {
        /// The file or folder.
        path: PathBuf,
    },
    /// The content exceeds a limit. The check runs before memory for the content is allocated.
    #[error("{}: {found} {what} exceed the limit of {limit}; use a part of the data, or raise {setting}",
        path.display())]
    OverLimit {
        /// The file or folder.
        path: PathBuf,
        /// The limited quantity.
        what: &'static str,
        /// The amount found so far. The content may have more.
        found: u64,
        /// The limit.
        limit: u64,
        /// The field of [`crate::Limits`].
        setting: &'static str,
    },
    /// The format does not support an option.
    #[error("{}: {fault}", path.display())]
    Options {
        /// The file or folder.
        path: PathBuf,
        /// The conflict and its remedy.
        fault: Fault,
    },
    /// The content is invalid, or of an unsupported kind.
    #[error("{}: {fault}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The fault, its position and its remedy.
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

/// A fault, its position and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The position in the file.
    pub place: Place,
    /// The fault, as a predicate: "has …", "is …".
    pub reason: String,
    /// The remedy, as an imperative.
    pub remedy: String,
}

impl Fault {
    pub(crate) fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: Place::Whole, reason: reason.into(), remedy: remedy.into() }
    }

    /// Creates a fault whose only remedy is another copy of the file.
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

/// A position in a file. Lines, columns, rows, records and examples are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// No specific position, or the reason already contains the position.
    Whole,
    /// A record of fixed length, by number.
    Record(u64),
    /// A column of a table, by name.
    Column(String),
    /// A field of a table.
    Field {
        /// The row.
        row: u64,
        /// The column's name.
        column: String,
    },
    /// A file in an archive, by name.
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
