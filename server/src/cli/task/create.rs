use std::path::PathBuf;

use folkmoot_coordinator::task::TaskDescription;

use super::show;
use crate::{
    cli::{CliError, connection::ConnectionArgs, output::OutputArgs},
    config::toml_file,
};

/// What to create.
#[derive(clap::Args)]
pub struct Args {
    /// The task's description.
    #[arg(value_name = "FILE.toml")]
    description: PathBuf,
    /// The model that it trains.
    #[arg(long, value_name = "FILE.onnx")]
    model: PathBuf,
    /// Start it at once.
    #[arg(long)]
    activate: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Creates a task.
///
/// # Errors
/// Names the file, line and key that are wrong, or every fault that the coordinator found.
pub async fn run(args: Args) -> Result<(), CliError> {
    let path = &args.description;
    let text = std::fs::read_to_string(path).map_err(CliError::read(path))?;
    let description: TaskDescription = toml_file::parse(path, &text)?;
    let onnx = std::fs::read(&args.model).map_err(CliError::read(&args.model))?;
    let client = args.connection.connect()?;
    let model = client.create_model(onnx).await?;
    let task = client.create_task(description, model.model, args.activate).await?;
    args.output.print(&task, show::text)
}
