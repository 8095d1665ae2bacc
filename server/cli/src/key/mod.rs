//! `folkmoot key …`

mod create;
mod list;
mod recover;
mod revoke;

use clap::Subcommand;

use super::CliError;

/// Hands out API keys.
#[derive(Subcommand)]
pub enum Command {
    /// Make an API key.
    Create(create::Args),
    /// List API keys, oldest first.
    List(list::Args),
    /// Revoke an API key.
    Revoke(revoke::Args),
    /// Make a key of an admin when all are lost, with the coordinator stopped.
    Recover(recover::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// If the coordinator refuses.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::Create(args) => create::run(args).await,
            Command::List(args) => list::run(args).await,
            Command::Revoke(args) => revoke::run(args).await,
            Command::Recover(args) => Box::pin(recover::run(args)).await,
        }
    }
}
