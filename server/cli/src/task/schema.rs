use folkmoot_task_file as task_file;

use crate::{CliError, output};

/// The flags of `folkmoot task schema`.
#[derive(clap::Args)]
pub struct Args {
    /// Print the reference page of all keys in Markdown.
    #[arg(long, hide = true)]
    reference: bool,
}

/// Prints the JSON Schema of a task file.
///
/// # Errors
/// If stdout cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    output::line(&if args.reference { task_file::reference() } else { task_file::document() })
}
