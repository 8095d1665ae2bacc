//! `folkmoot rollout …`: the models that apps should use.

mod change;
mod create;
mod fetch;
mod list;

use clap::Subcommand;

use super::CliError;

/// The subcommands of `folkmoot rollout`.
#[derive(Subcommand)]
pub enum Command {
    /// Give a model version to the devices of a channel, or to a share of them.
    Create(create::Args),
    /// List a population's rollouts, newest first.
    List(list::Args),
    /// Change the share of devices that get the model, or the share of failures that is permitted.
    Set(change::SetArgs),
    /// Give the model to no device any more. They return to the rollout before it.
    Hold(change::Args),
    /// Give the model to devices again.
    Resume(change::Args),
    /// Fetch, as a device, the model that is rolled out to it.
    Fetch(fetch::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if a flag is invalid, if the coordinator cannot be reached or refuses the request, or if a file cannot be written.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::Create(args) => create::run(args).await,
            Command::List(args) => list::run(args).await,
            Command::Set(args) => change::set(args).await,
            Command::Hold(args) => change::hold(args, true).await,
            Command::Resume(args) => change::hold(args, false).await,
            Command::Fetch(args) => Box::pin(fetch::run(args)).await,
        }
    }
}
