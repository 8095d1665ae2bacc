//! `folkmoot population …`

mod clients;
mod list;
pub(super) mod revoke_client;
mod set;
mod show_client;

use clap::Subcommand;

use super::{CliError, connection::CoordinatorArgs};

/// The subcommands of `folkmoot population`.
#[derive(Subcommand)]
pub enum Command {
    /// List populations by name.
    List(CoordinatorArgs),
    /// Show statistics about a population's clients.
    Clients(clients::Args),
    /// Show when a client enrolled, and with which token.
    ShowClient(show_client::Args),
    /// Revoke a client, and close its enrolment token to new clients.
    RevokeClient(revoke_client::Args),
    /// Change a population's unit of privacy, its total privacy budget, and whether its clients are named sites.
    Set(set::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if the coordinator cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::List(args) => list::run(args).await,
            Command::Clients(args) => clients::run(args).await,
            Command::ShowClient(args) => show_client::run(args).await,
            Command::RevokeClient(args) => revoke_client::run(args).await,
            Command::Set(args) => set::run(args).await,
        }
    }
}
