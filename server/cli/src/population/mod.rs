//! `folkmoot population …`

mod clients;
mod list;
mod revoke_client;
mod set;
mod show_client;

use clap::Subcommand;

use super::CliError;

/// Lists populations, and says what holds for everybody in one.
#[derive(Subcommand)]
pub enum Command {
    /// List populations, by name.
    List(list::Args),
    /// Show who a population's clients are, taken together.
    Clients(clients::Args),
    /// Show when a client enrolled, and with which token.
    ShowClient(show_client::Args),
    /// Take no request of a client any more, and close its token to new clients.
    RevokeClient(revoke_client::Args),
    /// Say whom the promises in a population protect, and what all its tasks together may spend.
    Set(set::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// If the coordinator refuses.
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
