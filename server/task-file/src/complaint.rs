use std::ops::Range;

/// Something that is wrong in a text, with its place in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// Where.
    pub span: Range<usize>,
    /// The key's path; empty where there is none.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub remedy: String,
}
