//! `cargo xtask openapi`: generates the description of the coordinator's API from its code.

use crate::document::Document;
use crate::workspace::Failure;
use clap::Args;

const DOCUMENT: Document =
    Document { path: "server/api/openapi.json", question: &["openapi"], command: "openapi" };

/// Selects whether to write or to compare.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Change nothing; fail if the committed file is out of date
    #[arg(long)]
    check: bool,
}

/// Writes the document, or compares it with the committed one.
///
/// # Errors
/// Fails if the document cannot be generated or written, or if the committed one differs. The error names the first
/// line that differs.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    DOCUMENT.write_or_check(arguments.check)
}
