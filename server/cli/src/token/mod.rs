//! `folkmoot token …`

pub(super) mod clients;
mod create;
mod list;
mod revoke;

use clap::Subcommand;

use super::{CliError, connection::CoordinatorArgs};

/// The subcommands of `folkmoot token`.
#[derive(Subcommand)]
pub enum Command {
    /// Create a token for enrolling clients in a population.
    Create(create::Args),
    /// List tokens, oldest first.
    List(CoordinatorArgs),
    /// List the clients that enrolled with a token, newest first.
    Clients(clients::Args),
    /// Revoke a token, and optionally its clients.
    Revoke(revoke::Args),
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
            Command::Clients(args) => clients::run(args).await,
            Command::Revoke(args) => revoke::run(args).await,
        }
    }
}
