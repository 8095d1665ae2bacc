//! `folkmoot site …`

mod list;

use clap::Subcommand;

use super::{CliError, population::revoke_client};

/// The subcommands of `folkmoot site`.
#[derive(Subcommand)]
pub enum Command {
    /// List the sites of a population by name, with their latest activity.
    List(list::Args),
    /// Revoke a site, and close its enrolment token.
    Revoke(revoke_client::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if the coordinator cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::List(args) => list::run(args).await,
            Command::Revoke(args) => revoke_client::run(args).await,
        }
    }
}
