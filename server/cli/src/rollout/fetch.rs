use std::path::PathBuf;

use folkmoot_client::{ClientError, engine::Examples};
use folkmoot_protocol::{ChannelName, TaskId};
use serde::Serialize;

use crate::{
    CliError,
    client::{InstallArgs, explained},
    output::OutputArgs,
    replace,
};

/// The flags of `folkmoot rollout fetch`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    install: InstallArgs,
    /// The channel of the device.
    #[arg(long, value_name = "NAME", default_value_t = ChannelName::default())]
    channel: ChannelName,
    /// The ONNX file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Fetched {
    rollout: u64,
    task_id: TaskId,
    version: u64,
    is_new: bool,
    file: PathBuf,
}

/// Fetches the model that is rolled out to a device, and writes it with its weights.
///
/// # Errors
/// Fails if no model is rolled out to the device, the model cannot be used, the coordinator cannot be reached or refuses, or
/// the file cannot be written.
pub async fn run(args: Args) -> Result<(), CliError> {
    let builder = args.install.builder()?.examples(Examples::none()).channel(args.channel.clone());
    let client = builder.build().map_err(explained)?;
    let updated = client.update_model().await.map_err(explained)?;
    let newest = client.models().newest().map_err(ClientError::from).map_err(explained)?;
    let Some((rollout, newest)) = updated.zip(newest) else {
        return Err(CliError::with_remedy(
            format!("no model is rolled out to this device in channel {}", args.channel),
            "roll one out with `folkmoot rollout create`, or name another channel with --channel",
        ));
    };
    let onnx = newest.model.export_onnx(&newest.weights);
    replace::write(&args.out, onnx.map_err(|error| CliError::new(error.to_string()))?)?;
    let fetched = Fetched {
        rollout: rollout.rollout,
        task_id: rollout.task_id,
        version: rollout.version,
        is_new: rollout.is_new,
        file: args.out,
    };
    args.output.print(&fetched, |fetched| {
        let Fetched { rollout, version, file, .. } = fetched;
        format!("wrote version {version} of rollout {rollout} to {}", file.display())
    })
}
