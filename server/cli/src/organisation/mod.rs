//! `folkmoot organisation …`

mod close;
mod create;
mod list;

use clap::Subcommand;

use super::{CliError, connection::CoordinatorArgs};

/// The subcommands of `folkmoot organisation`.
#[derive(Subcommand)]
pub enum Command {
    /// Create an organisation, and print its first API key. It is printed only once.
    Create(create::Args),
    /// List organisations, oldest first.
    List(CoordinatorArgs),
    /// Close an organisation forever: revoke its API keys, tokens and clients, and cancel its tasks.
    Close(close::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if the coordinator cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::Create(args) => create::run(args).await,
            Command::List(args) => list::run(args).await,
            Command::Close(args) => close::run(args).await,
        }
    }
}
