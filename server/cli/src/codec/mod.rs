//! `folkmoot codec …`

mod bench;
mod update_file;

use clap::Subcommand;

use super::CliError;

/// The subcommands of `folkmoot codec`.
#[derive(Subcommand)]
pub enum Command {
    /// Compress an update with every codec and report the size, the error and the speed.
    Bench(bench::Args),
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// If a file cannot be read or is not an update.
    pub async fn run(self) -> Result<(), CliError> {
        let Self::Bench(args) = self;
        let run = tokio::task::spawn_blocking(move || bench::run(&args));
        run.await.map_err(|error| {
            CliError::new(format!("the measurement was interrupted: {error}; run the command again"))
        })?
    }
}
