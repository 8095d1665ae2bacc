//! `folkmoot token …`

pub(super) mod clients;
mod create;
mod list;
mod revoke;

use clap::Subcommand;

use super::CliError;

/// Hands out enrolment tokens.
#[derive(Subcommand)]
pub enum Command {
    /// Make a token with which clients of a population enrol.
    Create(create::Args),
    /// List tokens, oldest first.
    List(list::Args),
    /// List the clients that enrolled with a token, the newest first.
    Clients(clients::Args),
    /// Revoke a token; the clients that it has enrolled stay, unless they are revoked, too.
    Revoke(revoke::Args),
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
            Command::Clients(args) => clients::run(args).await,
            Command::Revoke(args) => revoke::run(args).await,
        }
    }
}
