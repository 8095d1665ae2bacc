use std::fmt;

use serde::Serialize;

use super::{PlacedFault, complaint::Complaint, show, source::Source};

/// The faults of a task file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskFileError {
    /// The path of the file.
    pub path: String,
    /// The faults in file order; never empty.
    pub faults: Vec<PlacedFault>,
}

impl TaskFileError {
    /// Sorts the complaints and computes their lines and columns.
    pub(super) fn new(path: String, text: &str, mut complaints: Vec<Complaint>) -> Self {
        complaints.sort_by(|a, b| {
            let key = |one: &Complaint| (one.span.start, one.span.end);
            key(a).cmp(&key(b)).then_with(|| a.field.cmp(&b.field))
        });
        complaints.dedup();
        let source = Source::new(text);
        let place = |complaint: Complaint| {
            let (line, column) = source.place(complaint.span.start);
            PlacedFault {
                line,
                column,
                width: source.width(&complaint.span),
                field: complaint.field,
                message: complaint.message,
                remedy: complaint.remedy,
                source: source.line(line).to_owned(),
            }
        };
        Self { path, faults: complaints.into_iter().map(place).collect() }
    }

    /// Returns a line with the file's path and the number of faults.
    pub fn summary(&self) -> String {
        let s = if self.faults.len() == 1 { "" } else { "s" };
        format!("{} has {} fault{s}", self.path, self.faults.len())
    }

    /// Formats each fault below its source line, with terminal colours if `is_coloured` is true.
    pub fn text(&self, is_coloured: bool) -> String {
        show::text(&self.path, &self.faults, is_coloured)
    }
}

impl fmt::Display for TaskFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\n{}", self.summary(), self.text(false))
    }
}

impl std::error::Error for TaskFileError {}
