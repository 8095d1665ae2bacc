use std::path::PathBuf;

use folkmoot_task_file::explain;

use super::check;
use crate::{CliError, output::OutputArgs};

/// The flags of `folkmoot task explain`.
#[derive(clap::Args)]
pub struct Args {
    /// The task file.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Also explain the traffic with this model.
    #[arg(long, value_name = "FILE.onnx")]
    model: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Explains in sentences what a task will do.
///
/// # Errors
/// If the task file has a fault, or a file cannot be read.
pub fn run(args: &Args) -> Result<(), CliError> {
    let model = args.model.as_deref().map(check::read_model).transpose()?;
    let description = check::read_for(&args.file, model.as_ref().map(|(model, _)| model))??;
    let size = model.map(|(model, onnx)| check::size_of(&model, onnx.len() as u64, &description.plan));
    let paragraphs = explain::explain(&description, size);
    args.output.print(paragraphs.as_slice(), explain::text)
}
