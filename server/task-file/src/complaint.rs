use std::ops::Range;

/// A fault in a text, with its byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// The byte range in the text.
    pub span: Range<usize>,
    /// The path of the key; empty if the fault is not about a key.
    pub field: String,
    /// A description of the fault.
    pub message: String,
    /// Advice on how to fix the fault.
    pub remedy: String,
}
