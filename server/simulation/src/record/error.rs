/// Rows that could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be written.
    #[error("the rows cannot be written: {0}; check whether the disk is full")]
    Write(#[from] std::io::Error),
    /// A row cannot be written as CSV.
    #[error("the rows cannot be written as CSV: {0}")]
    Csv(#[from] csv::Error),
    /// A row cannot be written as JSON.
    #[error("the rows cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Rows cannot be written as Parquet.
    #[error("the rows cannot be written as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A row's cells do not match its columns.
    #[error("column {column} of the row has a cell of the wrong kind; make `cells` match `COLUMNS`")]
    WrongCell {
        /// The column's name.
        column: &'static str,
    },
}
