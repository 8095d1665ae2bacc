//! Errors of the data readers.

use crate::examples::ExamplesError;

/// Why a file could not be read as examples. Lines and columns are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file has no rows.
    #[error("the file has no examples; choose a file with at least one")]
    Empty,
    /// The file cannot be read, or is not UTF-8.
    #[error("the file cannot be read: {0}")]
    Read(String),
    /// The header has no such column.
    #[error("there is no column named {name}; the columns are {columns}")]
    NoSuchColumn {
        /// The requested column.
        name: String,
        /// The names in the header.
        columns: String,
    },
    /// The label column was given by name, but the file has no header.
    #[error("the label column {name} is given by name, which needs a header")]
    NameWithoutHeader {
        /// The requested column.
        name: String,
    },
    /// A row has more or fewer columns than the first.
    #[error("line {line} has {found} columns, but {expected} were expected")]
    ColumnCount {
        /// The line.
        line: u64,
        /// The number of columns in the first row; at least 2, one feature and the label.
        expected: usize,
        /// The number of columns in this row.
        found: usize,
    },
    /// A field does not match the type of its column.
    #[error("line {line}, column {column}: {text:?} is not {expected}")]
    InvalidField {
        /// The line.
        line: u64,
        /// The column.
        column: usize,
        /// The beginning of the field's text.
        text: String,
        /// The expected kind of value.
        expected: &'static str,
    },
    /// There are more rows than the limit.
    #[error("the file has more than {limit} rows")]
    TooManyRows {
        /// The limit, from [`super::CsvOptions::rows_max`].
        limit: usize,
    },
    /// An NPY file is damaged or of an unsupported kind.
    #[error("the {file} file {reason}")]
    InvalidNpy {
        /// "features" or "labels".
        file: &'static str,
        /// The fault, as a predicate.
        reason: String,
    },
    /// Features and labels do not match.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}
