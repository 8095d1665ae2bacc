use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, task_called::TaskCalled};

/// The arguments of `folkmoot task roll-back`.
#[derive(clap::Args)]
pub struct Args {
    /// The task: its name, its id or the beginning of its id. It must be paused.
    task: TaskCalled,
    /// The version to return to.
    #[arg(value_name = "VERSION")]
    version: u64,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Creates a new version with the weights of an earlier one.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request, for example because the task is not paused or has
/// no such version.
pub async fn run(args: Args) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let task = coordinator.roll_back(args.task.id(&coordinator).await?, args.version).await?;
    let version = args.version;
    args.output.print(&task, |task| {
        format!(
            "task {} ({}): version {} has the weights of version {version}",
            task.id, task.description.name, task.latest_version
        )
    })
}
