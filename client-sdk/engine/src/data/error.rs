//! Why a file did not become examples.

use crate::examples::ExamplesError;

/// Why a file did not become examples. Lines and columns are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file has no rows.
    #[error("the file has no examples")]
    Empty,
    /// The file cannot be read, or is not UTF-8.
    #[error("the file cannot be read: {0}")]
    Read(String),
    /// The header has no such column.
    #[error("there is no column named {name}; the columns are {columns}")]
    NoSuchColumn {
        /// The column that was asked for.
        name: String,
        /// The header.
        columns: String,
    },
    /// A column was asked for by name, but there is no header.
    #[error("the label column {name} is given by name, which needs a header")]
    NameWithoutHeader {
        /// The column that was asked for.
        name: String,
    },
    /// A row has more or fewer columns than the first.
    #[error("line {line} has {found} columns, {expected} were expected")]
    ColumnCount {
        /// The line.
        line: u64,
        /// The columns of the first row; at least one for features and one for the label.
        expected: usize,
        /// The columns of this row.
        found: usize,
    },
    /// A field is not what its column holds.
    #[error("line {line}, column {column}: {text:?} is not {expected}")]
    InvalidField {
        /// The line.
        line: u64,
        /// The column.
        column: usize,
        /// The beginning of the field.
        text: String,
        /// What it should be.
        expected: &'static str,
    },
    /// There are more rows than the limit.
    #[error("the file has more than {limit} rows")]
    TooManyRows {
        /// [`super::CsvOptions::rows_max`].
        limit: usize,
    },
    /// An NPY file is damaged, or of a kind that is not read.
    #[error("the {file} file: {reason}")]
    InvalidNpy {
        /// Which of the two files.
        file: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Features and labels do not go together.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}
