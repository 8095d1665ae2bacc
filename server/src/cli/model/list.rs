use folkmoot_protocol::TaskId;

use crate::{
    cli::{
        CliError, Page,
        connection::ConnectionArgs,
        output::{OutputArgs, moment, or_dash, table},
    },
    http::admin::versions::VersionView,
};

/// Which versions.
#[derive(clap::Args)]
pub struct Args {
    /// The task.
    task: TaskId,
    /// How many, at most 100.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: u32,
    /// Those below this number.
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists a task's model versions, newest first.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    let page = Page { limit: args.limit, before: args.before };
    let versions = args.connection.connect()?.versions(args.task, page).await?;
    args.output.print(versions.as_slice(), text)
}

fn text(versions: &[VersionView]) -> String {
    let rows = versions.iter().map(|version| {
        [
            version.number.to_string(),
            or_dash(version.mean_loss.map(|loss| format!("{loss:.4}"))),
            or_dash(version.accuracy.map(|accuracy| format!("{:.2} %", 100.0 * accuracy))),
            version.example_count.to_string(),
            moment(version.created_at),
        ]
    });
    table(["VERSION", "TRAINING LOSS", "TRAINING ACCURACY", "EXAMPLES", "RELEASED"], rows)
}
