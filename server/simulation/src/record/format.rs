use serde::{Deserialize, Serialize};

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Comma-separated values with a header (RFC 4180); nothing is an empty field.
    #[default]
    Csv,
    /// A JSON object for each row, each on a line of its own.
    JsonLines,
    /// Apache Parquet, uncompressed.
    Parquet,
}

impl Format {
    /// Returns the usual end of a file's name, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::JsonLines => "jsonl",
            Format::Parquet => "parquet",
        }
    }

    /// Returns the format of a file by the end of its name; `None` for another.
    pub fn from_extension(extension: &str) -> Option<Self> {
        [Format::Csv, Format::JsonLines, Format::Parquet]
            .into_iter()
            .find(|format| format.extension() == extension)
    }
}
