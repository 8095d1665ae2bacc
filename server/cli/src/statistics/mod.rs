//! `folkmoot statistics …`: means, deviations and histograms of the tables of a population.

mod prepare;
mod show;

use clap::Subcommand;

use super::CliError;

/// The subcommands of `folkmoot statistics`.
#[derive(Subcommand)]
pub enum Command {
    /// Write a model and a task whose only round computes statistics of the clients' tables.
    Prepare(prepare::Args),
    /// Show the statistics in the model that the task has trained, and derive a schema from them.
    Show(show::Args),
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// If a flag is invalid, or a file cannot be read or written.
    pub async fn run(self) -> Result<(), CliError> {
        let run = tokio::task::spawn_blocking(move || match self {
            Self::Prepare(args) => prepare::run(&args),
            Self::Show(args) => show::run(&args),
        });
        run.await.map_err(|error| {
            CliError::new(format!("the command was interrupted: {error}; run the command again"))
        })?
    }
}
