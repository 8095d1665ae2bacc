//! `cargo xtask errors`: the reference of errors in every language, generated from their code.

use crate::document::Document;
use crate::workspace::Failure;
use clap::Args;

const DOCUMENT: Document =
    Document { path: "docs/reference/errors.md", question: &["errors", "--reference"], command: "errors" };

/// Whether to write or to compare.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Change nothing; fail if the committed page is not what the code says
    #[arg(long)]
    check: bool,
}

/// Writes the page, or compares it with the committed one.
///
/// # Errors
/// Returns the first line that differs, or why the page could not be generated or written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    DOCUMENT.write_or_check(arguments.check)
}
