use folkmoot_api::populations::RolloutView;
use folkmoot_protocol::PopulationName;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, table},
};

/// The flags of `folkmoot rollout list`.
#[derive(clap::Args)]
pub struct Args {
    /// The population.
    population: PopulationName,
    /// The maximum number of rollouts, 1 to 100.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// List only rollouts with a lower number.
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists rollouts.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let rollouts = coordinator.rollouts(&args.population, args.limit, args.before).await?;
    args.output.print(rollouts.as_slice(), text)
}

/// Formats rollouts as a table.
pub(super) fn text(rollouts: &[RolloutView]) -> String {
    let percent = |share: f64| format!("{} %", (share * 1e6).round() / 1e4);
    let rows = rollouts.iter().map(|rollout| {
        let state = match (&rollout.held, &rollout.last_failure) {
            (Some(reason), Some(failure)) => format!("held: {reason} (last: {failure})"),
            (Some(reason), None) => format!("held: {reason}"),
            (None, _) => "open".to_owned(),
        };
        [
            rollout.number.to_string(),
            rollout.channel.to_string(),
            rollout.task_id.to_string(),
            rollout.version.to_string(),
            percent(rollout.share),
            rollout.loaded.to_string(),
            format!("{} (at most {})", rollout.failed, percent(rollout.failures_max)),
            moment(rollout.created_at),
            state,
        ]
    });
    table(["ROLLOUT", "CHANNEL", "TASK", "VERSION", "SHARE", "LOADED", "FAILED", "CREATED", "STATE"], rows)
}
