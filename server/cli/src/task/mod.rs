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

use super::CliError;

/// Creates, watches and changes tasks.
#[derive(Subcommand)]
pub enum Command {
    /// Write a task's description to begin with: every key with what it means.
    New(new::Args),
    /// List everything that is wrong with a task's description.
    Check(check::Args),
    /// Say in words what a task will do.
    Explain(explain::Args),
    /// Print the JSON Schema of a task's description.
    Schema(schema::Args),
    /// Create a task from a description and a model.
    Create(create::Args),
    /// List tasks, newest first.
    List(list::Args),
    /// Show a task with where it stands.
    Show(show::Args),
    /// Start a task that is a draft.
    Activate(change::Args),
    /// Hold a task: its open round is abandoned.
    Pause(change::Args),
    /// Let a paused task go on.
    Resume(change::Args),
    /// End a task for good; its model versions stay.
    Cancel(change::Args),
    /// Make a new version with the weights of an earlier one; the task must be paused.
    RollBack(roll_back::Args),
    /// List a task's rounds, newest first.
    Rounds(rounds::Args),
    /// Show a round's assignments on the clock.
    Round(round::Args),
    /// Show how a task went, version after version.
    Series(series::Args),
    /// List what a task's rounds cost in bytes, by codec and kind of network, newest first.
    Stats(stats::Args),
    /// List what was measured of a task's versions.
    Evaluations(evaluations::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// If a file cannot be read, or the coordinator refuses.
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
