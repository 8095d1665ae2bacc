use folkmoot_api::{Page, tasks::TaskSummary};
use folkmoot_coordinator::task::TaskFilter;
use folkmoot_protocol::PopulationName;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
    task_called::TaskCalled,
};

/// The flags of `folkmoot task list`.
#[derive(clap::Args)]
pub struct Args {
    /// The number of tasks to list, at most 100.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: u32,
    /// List only tasks that are older than this one.
    #[arg(long, value_name = "TASK")]
    before: Option<TaskCalled>,
    /// List only tasks in this state: draft, active, paused, completed or cancelled.
    #[arg(long)]
    state: Option<String>,
    /// List only tasks of this population.
    #[arg(long)]
    population: Option<PopulationName>,
    /// List only tasks whose name contains this text.
    #[arg(long, value_name = "PART")]
    name: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists tasks, newest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let before = match &args.before {
        Some(task) => Some(task.id(&coordinator).await?),
        None => None,
    };
    let page = Page { limit: args.limit, before };
    let filter = TaskFilter { state: args.state, population: args.population, name: args.name, called: None };
    let tasks = coordinator.tasks_like(&filter, page).await?;
    args.output.print(tasks.as_slice(), text)
}

fn text(tasks: &[TaskSummary]) -> String {
    let rows = tasks.iter().map(|task| {
        [
            task.id.to_string(),
            task.name.clone(),
            task.population.to_string(),
            task.state.clone(),
            format!("{}/{}", task.rounds_committed, or_dash(task.rounds_wanted)),
            moment(task.created_at),
        ]
    });
    table(["TASK", "NAME", "POPULATION", "STATE", "ROUNDS", "CREATED"], rows)
}
