use serde::Serialize;

/// A fault with its position in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedFault {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The number of characters to mark in the line.
    pub width: usize,
    /// The path of the key, for example `scheduling.report_goal`. Empty if the fault is not about a key.
    pub field: String,
    /// A description of the fault.
    pub message: String,
    /// Advice on how to fix the fault.
    pub remedy: String,
    /// The text of the line.
    #[serde(skip)]
    pub source: String,
}
