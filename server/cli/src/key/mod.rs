//! `folkmoot key …`

mod create;
mod list;
mod recover;
mod revoke;
mod rotate;

use clap::Subcommand;

use super::{CliError, connection::CoordinatorArgs};

/// The subcommands of `folkmoot key`.
#[derive(Subcommand)]
pub enum Command {
    /// Create an API key. It is printed only once.
    Create(create::Args),
    /// List API keys, oldest first.
    List(CoordinatorArgs),
    /// Revoke an API key.
    Revoke(revoke::Args),
    /// Give an API key a new secret. The old one stays valid for a while.
    Rotate(rotate::Args),
    /// Create an admin key if all keys are lost, or a key of a privacy officer or the system. Stop the coordinator first.
    Recover(recover::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if the coordinator cannot be reached or refuses the request. `recover` needs no coordinator: it fails if
    /// the data folder or the database cannot be used.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::Create(args) => create::run(args).await,
            Command::List(args) => list::run(args).await,
            Command::Revoke(args) => revoke::run(args).await,
            Command::Rotate(args) => rotate::run(args).await,
            Command::Recover(args) => Box::pin(recover::run(args)).await,
        }
    }
}
