use folkmoot_api::tasks::SeriesView;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
    task_called::TaskCalled,
};

/// The flags of `folkmoot task series`.
#[derive(clap::Args)]
pub struct Args {
    /// The task: its name, its id or the beginning of its id. `folkmoot task list` shows both.
    task: TaskCalled,
    /// The approximate number of versions to show, 1 to 5,000.
    #[arg(long, default_value_t = 20, value_name = "N")]
    points: u64,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows the history of a task, version by version. With `--json`, prints the data for a chart.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let series = coordinator.series(args.task.id(&coordinator).await?, args.points).await?;
    args.output.print(&series, text)
}

fn text(series: &SeriesView) -> String {
    let rows = series.points.iter().map(|point| {
        [
            point.version.to_string(),
            or_dash(point.round_number),
            or_dash(point.clients),
            or_dash(point.loss.map(|loss| format!("{loss:.4}"))),
            or_dash(point.accuracy.map(|accuracy| format!("{:.2} %", 100.0 * accuracy))),
            or_dash(point.upload_bytes),
            moment(point.created_at),
        ]
    });
    table(["VERSION", "ROUND", "UPDATES", "LOSS", "ACCURACY", "BYTES SO FAR", "RELEASED"], rows)
}
