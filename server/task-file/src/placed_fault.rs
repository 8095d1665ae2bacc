use serde::Serialize;

/// One thing that is wrong, and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedFault {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// How many characters of the line it is about.
    pub width: usize,
    /// The key's path, `scheduling.report_goal`; empty where no key is concerned.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub remedy: String,
    /// The line as it is in the file.
    #[serde(skip)]
    pub source: String,
}
