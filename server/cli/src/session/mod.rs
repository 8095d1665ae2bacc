//! `folkmoot session …`

mod end;
mod list;

use clap::Subcommand;

use super::{CliError, connection::CoordinatorArgs};

/// The subcommands of `folkmoot session`.
#[derive(Subcommand)]
pub enum Command {
    /// List the open sessions of the organisation's people and keys, newest first.
    List(CoordinatorArgs),
    /// End a session, or all sessions of a person, at once.
    End(end::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if the coordinator cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::List(args) => list::run(args).await,
            Command::End(args) => end::run(args).await,
        }
    }
}
