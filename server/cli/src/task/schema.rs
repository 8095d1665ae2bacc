use folkmoot_task_file as task_file;

use crate::{CliError, output};

/// What to print.
#[derive(clap::Args)]
pub struct Args {
    /// Print the page of all keys instead, in Markdown.
    #[arg(long, hide = true)]
    reference: bool,
}

/// Prints the JSON Schema of a task's description.
///
/// # Errors
/// If stdout cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    output::line(&if args.reference { task_file::reference() } else { task_file::document() })
}
