use std::path::PathBuf;

use folkmoot_client::parse_coordinator;
use folkmoot_protocol::endorsement::{STATEMENT_FORMAT, TaskStatement};
use folkmoot_rounds::clock::system_clock;

use super::folder;
use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, task_called::TaskCalled};

const DAY_MILLISECONDS: u64 = 24 * 60 * 60 * 1000;

/// The flags of `folkmoot endorsement prepare`.
#[derive(clap::Args)]
pub struct Args {
    /// The task: its name, its id or the beginning of its id.
    task: TaskCalled,
    /// The folder for the statement and the plans. It is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The address at which clients reach the coordinator. Can be repeated. [default: the address of --url]
    #[arg(long = "for", value_name = "URL")]
    coordinators: Vec<String>,
    /// The number of days for which the endorsement is valid.
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Writes a statement about a task's model and plans, and the plans themselves, so that people can read them before
/// they sign.
///
/// # Errors
/// Fails if an address is invalid, if a file cannot be written, or if the coordinator cannot be reached or refuses the
/// request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let coordinators = match &args.coordinators[..] {
        [] => vec![origin(args.connection.url())?],
        named => named.iter().map(|url| origin(url)).collect::<Result<_, _>>()?,
    };
    let coordinator = args.connection.connect()?;
    let task_id = args.task.id(&coordinator).await?;
    let task = coordinator.endorsement(task_id).await?;
    let newest = task.endorsement.as_ref().map(|endorsement| endorsement.verify());
    let newest = newest.transpose().map_err(|error| {
        CliError::new(format!("the endorsement that the coordinator has is not valid: {error}"))
    })?;
    let now = system_clock()();
    let statement = TaskStatement {
        format: STATEMENT_FORMAT,
        task_id,
        sequence: newest.map_or(0, |newest| newest.sequence) + 1,
        coordinators,
        not_before: now,
        expires_at: now.plus_milliseconds(u64::from(args.days) * DAY_MILLISECONDS),
        model: task.model,
        plans: task.plans.iter().map(|plan| plan.promise).collect(),
    };
    let plans: Vec<_> = task.plans.iter().map(|plan| (plan.work, plan.text.as_str())).collect();
    folder::write(&args.out, &statement, &plans)?;
    let described = folder::described(&statement);
    args.output.print(&statement, |_| {
        format!("{described}\n\nRead the plans in {}, then sign the statement there.", args.out.display())
    })
}

fn origin(url: &str) -> Result<String, CliError> {
    let url = parse_coordinator(url).map_err(|error| CliError::new(error.to_string()))?;
    Ok(url.origin().ascii_serialization())
}
