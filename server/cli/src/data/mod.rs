//! `folkmoot data …`: tables with texts, dates and gaps.

mod encode;
mod schema;

use std::path::Path;

use clap::Subcommand;
use folkmoot_data::schema::Schema;

use super::CliError;

/// The subcommands of `folkmoot data`.
#[derive(Subcommand)]
pub enum Command {
    /// Derive from a table how its columns become numbers, for every client that trains on such tables.
    Schema(schema::Args),
    /// Write a table's features and labels as a NumPy archive, for other programs.
    Encode(encode::Args),
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// If a file cannot be read or written, or the table does not fit the schema.
    pub async fn run(self) -> Result<(), CliError> {
        let run = tokio::task::spawn_blocking(move || match self {
            Self::Schema(args) => schema::run(&args),
            Self::Encode(args) => encode::run(&args),
        });
        run.await.map_err(|error| CliError::new(format!("reading was interrupted: {error}")))?
    }
}

/// Reads the file of a flag `--schema`, if it is given.
///
/// # Errors
/// If the file cannot be read or is not a schema.
pub fn read_schema(path: Option<&Path>) -> Result<Option<Schema>, CliError> {
    let schema = path.map(Schema::read).transpose();
    schema.map_err(|error| CliError::new(error.to_string()))
}
