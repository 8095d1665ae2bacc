use std::path::{Path, PathBuf};

use folkmoot_api::{AdminClient, tasks::CreateTaskRequest};
use folkmoot_coordinator::task::WarmStart;
use folkmoot_data::{ReadOptions, schema::DataSchema};
use folkmoot_protocol::BlobDigest;
use folkmoot_rounds::{components, registry::evaluation_data};

use super::{check, show};
use crate::{
    CliError, connection::ConnectionArgs, model::weights, output::OutputArgs, task_called::TaskCalled,
};

/// The flags of `folkmoot task create`.
#[derive(clap::Args)]
pub struct Args {
    /// The task file.
    #[arg(value_name = "FILE.toml")]
    description: PathBuf,
    /// The model to train.
    #[arg(long, value_name = "FILE.onnx")]
    model: PathBuf,
    /// Your own examples, for central evaluation or an aggregator that uses them, in any format of `folkmoot client`.
    #[arg(long, value_name = "FILE")]
    evaluation_data: Option<PathBuf>,
    /// Start from the weights of another task's version, by default its newest. TASK is a name, an id or the beginning
    /// of an id.
    #[arg(long, value_name = "TASK[@VERSION]")]
    warm_start: Option<String>,
    /// Start from the weights of a safetensors file, in place of those of the ONNX file.
    #[arg(long, value_name = "FILE.safetensors", conflicts_with = "warm_start")]
    weights: Option<PathBuf>,
    /// Start the task at once.
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
/// Fails if a file has faults, in which case the error lists all of them, or if the coordinator cannot be reached or
/// refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let (model, onnx) = check::read_model(&args.model)?;
    let mut description = check::read_for(&args.description, Some(&model))??;
    let onnx = match &args.weights {
        Some(file) => weights::put(&model, file)?,
        None => onnx,
    };
    let client = args.connection.connect()?;
    let model = client.create_model(onnx).await?;
    let evaluation_data = match &args.evaluation_data {
        Some(path) => Some(bring_examples(&client, path, description.data_schema()).await?),
        None => None,
    };
    let components = components::read_files(&mut description);
    for component in components.map_err(|error| CliError::new(error.to_string()))? {
        client.create_component(component.into()).await?;
    }
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

/// Uploads the operator's own examples. A table or images are encoded by the task's schema, if it has one.
async fn bring_examples(
    client: &AdminClient,
    path: &Path,
    schema: Option<&DataSchema>,
) -> Result<BlobDigest, CliError> {
    let options = ReadOptions::default().or_schema(schema, path);
    let read = options.and_then(|options| folkmoot_data::read(path, &options));
    let dataset = read.map_err(|error| CliError::new(error.to_string()))?;
    let bytes =
        evaluation_data::write(&dataset.examples).map_err(|error| CliError::new(error.to_string()))?;
    Ok(client.create_evaluation_data(bytes).await?.evaluation_data)
}

/// Parses `TASK@VERSION`, or `TASK` for its newest version.
async fn warm_start(client: &AdminClient, text: &str) -> Result<WarmStart, CliError> {
    let wrong = || {
        let message = format!("--warm-start: {text:?} is not TASK or TASK@VERSION");
        CliError::with_remedy(
            message,
            "give, for example, digits@12 or 0199c0de@12; list the tasks with `folkmoot task list`",
        )
    };
    let (task, version) = named(text).ok_or_else(wrong)?;
    let task_id = task.id(client).await?;
    let version = match version {
        Some(version) => version,
        None => client.task(task_id).await?.latest_version,
    };
    Ok(WarmStart { task_id, version })
}

/// Parses a task and an optional version.
fn named(text: &str) -> Option<(TaskCalled, Option<u64>)> {
    match text.rsplit_once('@') {
        Some((task, version)) => Some((task.parse().ok()?, Some(version.parse().ok()?))),
        None => Some((text.parse().ok()?, None)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use folkmoot_api::tasks::CheckTaskRequest;
    use folkmoot_protocol::TaskId;

    use super::*;

    /// The command without its parents.
    #[derive(Parser)]
    struct Create {
        #[command(flatten)]
        args: Args,
    }

    /// The console shows the command that creates a validated task. It must parse with every option.
    #[test]
    fn the_command_that_a_check_writes_is_read() {
        let task_id = TaskId::from_random_bytes([7; 16]);
        let request = CheckTaskRequest {
            evaluation_data: Some(BlobDigest::of(b"examples")),
            warm_start: Some(WarmStart { task_id, version: 12 }),
            activate: true,
            ..CheckTaskRequest::default()
        };
        let written = request.command();
        let words = written.strip_prefix("folkmoot task ").expect("it is a command of a task").split(' ');
        let connection = ["--url", "https://localhost", "--api-key", "key"];
        let words = words.chain(connection);
        let args = Create::try_parse_from(words).map_err(|error| error.to_string()).unwrap().args;
        assert!(args.activate && args.evaluation_data.is_some(), "{written}");
        let warm_start = args.warm_start.expect("it begins with another's weights");
        let task: TaskCalled = task_id.to_string().parse().unwrap();
        assert_eq!(named(&warm_start), Some((task.clone(), Some(12))), "{written}");
        assert_eq!(named(&task_id.to_string()), Some((task, None)));
        for wrong in ["digits@", "@12", "digits@newest"] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}
