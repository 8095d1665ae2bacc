use folkmoot_api::populations::ChangeRolloutRequest;
use folkmoot_protocol::PopulationName;

use super::list::text;
use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The flags of `folkmoot rollout hold` and `folkmoot rollout resume`.
#[derive(clap::Args)]
pub struct Args {
    /// The population.
    population: PopulationName,
    /// The number of the rollout. `folkmoot rollout list` shows it.
    number: u64,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The flags of `folkmoot rollout set`. Omitted settings keep their values.
#[derive(clap::Args)]
pub struct SetArgs {
    #[command(flatten)]
    rollout: Args,
    /// The share of the channel's devices that get the model, 0 to 1.
    #[arg(long, value_name = "SHARE", required_unless_present = "failures_max")]
    share: Option<f64>,
    /// The share of devices that may fail to load the model, 0 to 1. If more fail, and more than one, the coordinator holds the
    /// rollout.
    #[arg(long, value_name = "SHARE")]
    failures_max: Option<f64>,
}

/// Changes the shares of a rollout.
///
/// # Errors
/// Fails if there is no such rollout, or the coordinator cannot be reached or refuses the request.
pub async fn set(args: SetArgs) -> Result<(), CliError> {
    let SetArgs { rollout, share, failures_max } = args;
    change(rollout, &ChangeRolloutRequest { share, failures_max, held: None }).await
}

/// Holds or resumes a rollout.
///
/// # Errors
/// As [`set`].
pub async fn hold(args: Args, is_held: bool) -> Result<(), CliError> {
    change(args, &ChangeRolloutRequest { held: Some(is_held), ..ChangeRolloutRequest::default() }).await
}

async fn change(args: Args, request: &ChangeRolloutRequest) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let rollout = coordinator.change_rollout(&args.population, args.number, request).await?;
    args.output.print(&rollout, |rollout| text(std::slice::from_ref(rollout)))
}
