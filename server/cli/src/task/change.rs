use folkmoot_api::TaskVerb;

use crate::{CliError, connection::TaskArgs};

/// Changes a task's state.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request, for example because the task's state does not
/// allow the change.
pub async fn run(args: TaskArgs, verb: TaskVerb) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let task = coordinator.change_task(args.task.id(&coordinator).await?, verb).await?;
    args.output.print(&task, |task| format!("task {} ({}) is {}", task.id, task.description.name, task.state))
}
