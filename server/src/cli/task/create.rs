use std::path::{Path, PathBuf};

use folkmoot_data::ReadOptions;
use folkmoot_protocol::BlobDigest;
use folkmoot_storage::WarmStart;

use super::{check, show};
use crate::{
    cli::{CliError, admin_client::AdminClient, connection::ConnectionArgs, output::OutputArgs},
    registry::{CreateTaskRequest, evaluation_data},
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
    /// The operator's own examples, on which versions are evaluated: any file that `folkmoot client` reads.
    #[arg(long, value_name = "FILE")]
    evaluation_data: Option<PathBuf>,
    /// Begin with the weights of another task's version.
    #[arg(long, value_name = "TASK[@VERSION]")]
    warm_start: Option<String>,
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
    let onnx = std::fs::read(&args.model).map_err(CliError::read(&args.model))?;
    let (model, _) = check::read_model(&args.model)?;
    let description = check::read_for(&args.description, Some(&model))??;
    let client = args.connection.connect()?;
    let model = client.create_model(onnx).await?;
    let evaluation_data = match &args.evaluation_data {
        Some(path) => Some(bring_examples(&client, path).await?),
        None => None,
    };
    let warm_start = match &args.warm_start {
        Some(text) => Some(warm_start(&client, text).await?),
        None => None,
    };
    let request = CreateTaskRequest {
        description,
        model: model.model,
        evaluation_data,
        warm_start,
        activate: args.activate,
    };
    let task = client.create_task_from(&request).await?;
    args.output.print(&task, show::text)
}

async fn bring_examples(client: &AdminClient, path: &Path) -> Result<BlobDigest, CliError> {
    let dataset = folkmoot_data::read(path, &ReadOptions::default())
        .map_err(|error| CliError::new(error.to_string()))?;
    let bytes =
        evaluation_data::write(&dataset.examples).map_err(|error| CliError::new(error.to_string()))?;
    Ok(client.create_evaluation_data(bytes).await?.evaluation_data)
}

/// Reads `TASK@VERSION`, or `TASK` for its newest version.
async fn warm_start(client: &AdminClient, text: &str) -> Result<WarmStart, CliError> {
    let wrong = || {
        let message = format!("--warm-start: {text:?} is not TASK or TASK@VERSION");
        CliError::with_remedy(message, "for example 0199c0de-…@12; `folkmoot task list` shows the tasks")
    };
    let (task, version) = text.split_once('@').map_or((text, None), |(task, version)| (task, Some(version)));
    let task_id = task.parse().map_err(|_| wrong())?;
    let version = match version {
        Some(version) => version.parse().map_err(|_| wrong())?,
        None => client.task(task_id).await?.latest_version,
    };
    Ok(WarmStart { task_id, version })
}
