use folkmoot_api::TaskVerb;
use folkmoot_protocol::TaskId;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The arguments of the commands that change a task's state.
#[derive(clap::Args)]
pub struct Args {
    /// The task.
    task: TaskId,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Changes a task's state.
///
/// # Errors
/// If the coordinator refuses, for example because the task's state does not allow the change.
pub async fn run(args: Args, verb: TaskVerb) -> Result<(), CliError> {
    let task = args.connection.connect()?.change_task(args.task, verb).await?;
    args.output.print(&task, |task| format!("task {} is {}", task.id, task.state))
}
