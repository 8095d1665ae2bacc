//! `folkmoot data …`: schemas of tables and of images.

mod encode;
mod schema;

use std::path::Path;

use clap::Subcommand;
use folkmoot_client::read_model_file;
use folkmoot_data::schema::{DataSchema, read_file};
use folkmoot_engine::onnx::read_data_schema;

use super::CliError;

/// The subcommands of `folkmoot data`.
#[derive(Subcommand)]
pub enum Command {
    /// Derive a schema from a table or from images: the rules that turn them into numbers, for all clients with such
    /// data.
    Schema(schema::Args),
    /// Write the features and labels of a table or of images as a NumPy archive, for other programs.
    Encode(encode::Args),
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// If a file cannot be read or written, or the data do not fit the schema.
    pub async fn run(self) -> Result<(), CliError> {
        let run = tokio::task::spawn_blocking(move || match self {
            Self::Schema(args) => schema::run(&args),
            Self::Encode(args) => encode::run(&args),
        });
        run.await.map_err(|error| {
            CliError::new(format!("reading was interrupted: {error}; run the command again"))
        })?
    }
}

/// Reads the file of a flag `--schema`, if it is given: a schema, or a model that carries one.
///
/// # Errors
/// If the file cannot be read, or has no schema.
pub fn read_schema(path: Option<&Path>) -> Result<Option<DataSchema>, CliError> {
    let Some(path) = path else { return Ok(None) };
    if path.extension().is_none_or(|extension| extension != "onnx") {
        return read_file(path).map(Some).map_err(|error| CliError::new(error.to_string()));
    }
    let schema = schema_of_model(path, &read_model_file(path)?.onnx)?;
    schema.map(Some).ok_or_else(|| {
        let message = format!("{} contains no schema", path.display());
        CliError::with_remedy(message, "give the schema file, or a model of a task with [data] schema")
    })
}

/// Reads the data schema in the metadata of a model. `path` is used only in the error.
///
/// # Errors
/// If the metadata has an invalid schema.
pub fn schema_of_model(path: &Path, onnx: &[u8]) -> Result<Option<DataSchema>, CliError> {
    read_data_schema(onnx).map_err(|error| CliError::new(format!("{}: {error}", path.display())))
}
