//! `folkmoot organisation …`

mod close;
mod create;
mod list;
mod set;

use clap::Subcommand;
use folkmoot_api::{AdminClient, organisations::OrganisationView};

use super::{CliError, connection::CoordinatorArgs, usage};

/// The subcommands of `folkmoot organisation`.
#[derive(Subcommand)]
pub enum Command {
    /// Create an organisation, and print its first API key. It is printed only once.
    Create(create::Args),
    /// List organisations, oldest first.
    List(CoordinatorArgs),
    /// Change an organisation's quotas.
    Set(set::Args),
    /// Show the daily usage of every organisation's clients.
    Usage(usage::DaysArgs),
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
            Command::Set(args) => set::run(args).await,
            Command::Usage(args) => usage::run_for_all(args).await,
            Command::Close(args) => close::run(args).await,
        }
    }
}

/// Finds an organisation by its name or id.
async fn find(admin: &AdminClient, text: &str) -> Result<OrganisationView, CliError> {
    let named = |one: &OrganisationView| one.name == text || one.id.to_string() == text;
    admin.organisations().await?.into_iter().find(named).ok_or_else(|| {
        let message =
            format!("there is no organisation {text:?}; `folkmoot organisation list` shows names and ids");
        CliError::new(message)
    })
}
