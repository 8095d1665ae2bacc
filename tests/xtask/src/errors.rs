//! `cargo xtask errors`: generates the reference of errors in all languages from the code.

use crate::document::Document;
use crate::workspace::Failure;
use clap::Args;

const DOCUMENT: Document =
    Document { path: "docs/reference/errors.md", question: &["errors", "--reference"], command: "errors" };

/// Selects whether to write or to compare.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Change nothing; fail if the committed page is out of date
    #[arg(long)]
    check: bool,
}

/// Writes the page, or compares it with the committed one.
///
/// # Errors
/// Fails if the page cannot be generated or written, or if the committed one differs. The error names the first line
/// that differs.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    DOCUMENT.write_or_check(arguments.check)
}
