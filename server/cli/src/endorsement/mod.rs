//! `folkmoot endorsement …`

mod folder;
mod key;
mod prepare;
mod publish;
mod show;
mod sign;

use clap::Subcommand;

use super::{CliError, connection::TaskArgs};

/// The subcommands of `folkmoot endorsement`.
#[derive(Subcommand)]
pub enum Command {
    /// Create a signing key, and print its public key. Keep the file away from the coordinator.
    Key(key::Args),
    /// Write a statement about a task's plans and model into a folder, to be read and signed.
    Prepare(prepare::Args),
    /// Sign the statement in a folder. Needs no coordinator.
    Sign(sign::Args),
    /// Publish the signed statement in a folder: the task's assignments carry it from then on.
    Publish(publish::Args),
    /// Show what a task's endorsement states, who signed it, and until when it is valid.
    Show(TaskArgs),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, or if the coordinator cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::Key(args) => key::run(args),
            Command::Prepare(args) => prepare::run(args).await,
            Command::Sign(args) => sign::run(args),
            Command::Publish(args) => publish::run(args).await,
            Command::Show(args) => show::run(args).await,
        }
    }
}
