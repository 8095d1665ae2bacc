//! `cargo xtask schema`: generates the schema of task files and the page of their keys from the code.

use crate::document::Document;
use crate::workspace::Failure;
use clap::Args;

const DOCUMENTS: [Document; 2] = [
    Document { path: "server/api/task.schema.json", question: &["task", "schema"], command: "schema" },
    Document {
        path: "docs/reference/task.md",
        question: &["task", "schema", "--reference"],
        command: "schema",
    },
];

/// Selects whether to write or to compare.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Change nothing; fail if a committed file is out of date
    #[arg(long)]
    check: bool,
}

/// Writes the schema and the page of all keys, or compares them with the committed files.
///
/// # Errors
/// Fails if a document cannot be generated or written, or if a committed one differs. The error names the first line
/// that differs.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    DOCUMENTS.iter().try_for_each(|document| document.write_or_check(arguments.check))
}
