use serde::{Deserialize, Serialize};

/// The file format of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Comma-separated values with a header (RFC 4180). A missing value is an empty field.
    #[default]
    Csv,
    /// One JSON object for each row, each on its own line.
    JsonLines,
    /// Apache Parquet, uncompressed.
    Parquet,
}

impl Format {
    /// Returns the usual file extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::JsonLines => "jsonl",
            Format::Parquet => "parquet",
        }
    }

    /// Returns the format with this file extension; `None` if no format has it.
    pub fn from_extension(extension: &str) -> Option<Self> {
        [Format::Csv, Format::JsonLines, Format::Parquet]
            .into_iter()
            .find(|format| format.extension() == extension)
    }
}
