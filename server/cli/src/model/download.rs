use std::path::PathBuf;

use serde::Serialize;

use super::weights;
use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, replace, task_called::TaskCalled};

/// The flags of `folkmoot model download`.
#[derive(clap::Args)]
pub struct Args {
    /// The task: its name, its id or the beginning of its id. `folkmoot task list` shows both.
    task: TaskCalled,
    /// The version. The default is the newest one.
    #[arg(long, value_name = "NUMBER")]
    version: Option<u64>,
    /// The cluster, counted from 1, of a task with plan.clusters. The default is the cluster with the largest share of
    /// the clients.
    #[arg(long, value_name = "NUMBER")]
    cluster: Option<u32>,
    /// The file to write: ONNX, or only the weights if its name ends with .safetensors.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Downloaded {
    version: u64,
    bytes: usize,
    file: PathBuf,
}

/// Downloads a model version as ONNX or safetensors.
///
/// # Errors
/// Fails if there is no such version, if the coordinator cannot be reached or refuses the request, or if the file
/// cannot be written.
pub async fn run(args: Args) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let task = args.task.id(&coordinator).await?;
    let model = coordinator.download_model(task, args.version, args.cluster).await?;
    let bytes = if weights::is_asked(&args.out) { weights::of(&model.onnx)? } else { model.onnx };
    replace::write(&args.out, &bytes)?;
    let downloaded = Downloaded { version: model.number, bytes: bytes.len(), file: args.out };
    args.output.print(&downloaded, |downloaded| {
        format!(
            "wrote version {} to {} ({} bytes)",
            downloaded.version,
            downloaded.file.display(),
            downloaded.bytes
        )
    })
}
