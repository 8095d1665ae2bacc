//! `cargo xtask openapi`: the description of the coordinator's API, generated from its code.

use crate::document::Document;
use crate::workspace::Failure;
use clap::Args;

const DOCUMENT: Document =
    Document { path: "server/api/openapi.json", question: &["openapi"], command: "openapi" };

/// Whether to write or to compare.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Change nothing; fail if the committed file is not what the code says
    #[arg(long)]
    check: bool,
}

/// Writes the document, or compares it with the committed one.
///
/// # Errors
/// Returns the first line that differs, or why the document could not be generated or written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    DOCUMENT.write_or_check(arguments.check)
}
