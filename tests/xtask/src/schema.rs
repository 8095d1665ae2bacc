//! `cargo xtask schema`: what may stand in a task's description, generated from its code.

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

/// Whether to write or to compare.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Change nothing; fail if a committed file is not what the code says
    #[arg(long)]
    check: bool,
}

/// Writes the schema and the page of all keys, or compares them with the committed ones.
///
/// # Errors
/// Returns the first line that differs, or why a document could not be generated or written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    DOCUMENTS.iter().try_for_each(|document| document.write_or_check(arguments.check))
}
