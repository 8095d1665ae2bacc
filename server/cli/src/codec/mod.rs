//! `folkmoot codec …`

mod bench;
mod update_file;

use clap::Subcommand;

use super::CliError;

/// What to do with codecs.
#[derive(Subcommand)]
pub enum Command {
    /// Compress an update by every codec, and say what that saves, loses and costs.
    Bench(bench::Args),
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// If a file cannot be read or has no update.
    pub async fn run(self) -> Result<(), CliError> {
        let Self::Bench(args) = self;
        let run = tokio::task::spawn_blocking(move || bench::run(&args));
        run.await.map_err(|error| CliError::new(format!("the measurement was interrupted: {error}")))?
    }
}
