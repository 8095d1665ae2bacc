use folkmoot_api::populations::CreateRolloutRequest;
use folkmoot_protocol::ChannelName;

use super::list::text;
use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, task_called::TaskCalled};

/// The flags of `folkmoot rollout create`.
#[derive(clap::Args)]
pub struct Args {
    /// The task that trained the model: its name, its id or the beginning of its id.
    task: TaskCalled,
    /// The model version. The default is the newest one.
    #[arg(long, value_name = "NUMBER")]
    version: Option<u64>,
    /// The channel whose devices get the model. Apps use `stable` unless they choose another one.
    #[arg(long, value_name = "NAME", default_value_t = ChannelName::default())]
    channel: ChannelName,
    /// The share of the channel's devices that get the model, 0 to 1. The others keep the model of the rollout before. Begin
    /// with a small share, and raise it with `folkmoot rollout set`.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    share: f64,
    /// The share of devices that may fail to load the model, 0 to 1. If more fail, and more than one, the coordinator holds the
    /// rollout.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    failures_max: f64,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Creates a rollout in the population of the task.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let id = args.task.id(&coordinator).await?;
    let population = coordinator.task(id).await?.description.population;
    let Args { version, channel, share, failures_max, .. } = args;
    let request = CreateRolloutRequest { channel, task: id.to_string(), version, share, failures_max };
    let rollout = coordinator.create_rollout(&population, &request).await?;
    args.output.print(&rollout, |rollout| text(std::slice::from_ref(rollout)))
}
