use std::path::PathBuf;

use folkmoot_data::{ReadOptions, read, write_npz};
use serde::Serialize;

use super::read_schema;
use crate::{CliError, output::OutputArgs, replace};

/// The flags of `folkmoot data encode`.
#[derive(clap::Args)]
pub struct Args {
    /// The table, a .csv file with a header line, or the images, a folder with one folder for each class.
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// The schema, from `folkmoot data schema`, or a model that carries one.
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// The archive to write, with the arrays `x` (float32) and `y` (int64 for classes, float32 for targets).
    #[arg(long, value_name = "FILE.npz")]
    out: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// The size of the archive.
#[derive(Serialize)]
struct Encoded {
    example_count: usize,
    feature_count: usize,
}

/// Writes the features and labels of a table or of images as a NumPy archive.
///
/// # Errors
/// If a file cannot be read or written, or the data do not fit the schema.
pub fn run(args: &Args) -> Result<(), CliError> {
    let options = ReadOptions { schema: read_schema(Some(&args.schema))?, ..ReadOptions::default() };
    let dataset = read(&args.data, &options).map_err(|error| CliError::new(error.to_string()))?;
    let examples = dataset.examples;
    replace::check(&args.out)?;
    write_npz(&examples, &args.out).map_err(CliError::write(&args.out))?;
    let encoded =
        Encoded { example_count: examples.len(), feature_count: examples.feature_shape().iter().product() };
    args.output.print(&encoded, |encoded| {
        format!("{} examples with {} features", encoded.example_count, encoded.feature_count)
    })
}
