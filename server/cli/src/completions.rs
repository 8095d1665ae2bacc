use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, CliError, output};

/// The arguments of `folkmoot completions`.
#[derive(clap::Args)]
pub struct Args {
    /// The shell that loads the script.
    shell: Shell,
}

/// Prints the completion script of a shell. For bash, save it as
/// `~/.local/share/bash-completion/completions/folkmoot`.
///
/// # Errors
/// If stdout cannot be written.
pub fn run(args: Args) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "folkmoot", &mut script);
    output::line(&String::from_utf8_lossy(&script))
}
