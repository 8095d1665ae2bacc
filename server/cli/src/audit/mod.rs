//! `folkmoot audit …`

mod chain;
mod export;
mod list;
mod verify;

use clap::Subcommand;

use super::CliError;

/// The subcommands of `folkmoot audit`.
#[derive(Subcommand)]
pub enum Command {
    /// List the newest entries of the audit log: who did what, from where, and what changed.
    List(list::Args),
    /// Verify that no entry of the audit log was changed, inserted or removed.
    Verify(verify::Args),
    /// Export the audit log, one line of JSON for each entry.
    Export(export::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if the coordinator cannot be reached or refuses the request, if a file cannot be read or written, or if
    /// the log is broken.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::List(args) => list::run(args).await,
            Command::Verify(args) => verify::run(args).await,
            Command::Export(args) => export::run(args).await,
        }
    }
}
