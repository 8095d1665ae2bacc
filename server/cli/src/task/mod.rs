//! `folkmoot task …`

mod change;
pub(crate) mod check;
mod create;
mod evaluations;
mod explain;
mod list;
mod new;
mod roll_back;
mod round;
mod rounds;
mod schema;
mod series;
mod show;
mod stats;

use clap::Subcommand;
use folkmoot_api::TaskVerb;

use super::{CliError, connection::TaskArgs, page::TaskPageArgs};

/// The subcommands of `folkmoot task`.
#[derive(Subcommand)]
pub enum Command {
    /// Write a template of a task file that documents every key.
    New(new::Args),
    /// Validate a task file and list all of its faults.
    Check(check::Args),
    /// Explain in sentences what a task will do.
    Explain(explain::Args),
    /// Print the JSON Schema of a task file.
    Schema(schema::Args),
    /// Create a task from a task file and a model.
    Create(create::Args),
    /// List tasks, newest first.
    List(list::Args),
    /// Show a task and its current state.
    Show(TaskArgs),
    /// Start a draft task.
    Activate(TaskArgs),
    /// Pause a task and abandon its open round.
    Pause(TaskArgs),
    /// Resume a paused task.
    Resume(TaskArgs),
    /// Cancel a task permanently. Its model versions are kept.
    Cancel(TaskArgs),
    /// Create a new version with the weights of an earlier one. The task must be paused.
    RollBack(roll_back::Args),
    /// List a task's rounds, newest first.
    Rounds(TaskPageArgs),
    /// Show the timeline of a round's assignments.
    Round(round::Args),
    /// Show the history of a task, version by version.
    Series(series::Args),
    /// List the traffic of a task's rounds in bytes, by codec and network, newest first.
    Stats(TaskPageArgs),
    /// List the evaluations of a task's versions.
    Evaluations(evaluations::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, or if the coordinator cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::New(args) => new::run(args),
            Command::Check(args) => check::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Schema(args) => schema::run(&args),
            Command::Create(args) => create::run(args).await,
            Command::List(args) => list::run(args).await,
            Command::Show(args) => show::run(args).await,
            Command::Activate(args) => change::run(args, TaskVerb::Activate).await,
            Command::Pause(args) => change::run(args, TaskVerb::Pause).await,
            Command::Resume(args) => change::run(args, TaskVerb::Resume).await,
            Command::Cancel(args) => change::run(args, TaskVerb::Cancel).await,
            Command::Evaluations(args) => evaluations::run(args).await,
            Command::Stats(args) => stats::run(args).await,
            Command::RollBack(args) => roll_back::run(args).await,
            Command::Rounds(args) => rounds::run(args).await,
            Command::Round(args) => round::run(args).await,
            Command::Series(args) => series::run(args).await,
        }
    }
}
