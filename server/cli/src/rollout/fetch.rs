use std::path::PathBuf;

use folkmoot_client::{Client, ClientError, engine::Examples};
use folkmoot_protocol::{ChannelName, TaskId};
use serde::Serialize;

use crate::{CliError, client::explained, output::OutputArgs, replace};

/// The flags of `folkmoot rollout fetch`.
#[derive(clap::Args)]
pub struct Args {
    /// The URL of the coordinator, for example https://coordinator.example:8443.
    #[arg(long, env = "FOLKMOOT_URL", value_name = "URL")]
    coordinator: String,
    /// The root certificate to trust (the coordinator's ca.pem). By default, the system's root certificates are
    /// trusted.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The enrolment token. It is needed only if the folder has no enrolment yet.
    #[arg(long, env = "FOLKMOOT_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The folder of the client. No other client may use it at the same time.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// The channel of the device.
    #[arg(long, value_name = "NAME", default_value_t = ChannelName::default())]
    channel: ChannelName,
    /// Accept only models of tasks that an endorsement with this Ed25519 public key covers. Can be repeated: each key may
    /// endorse.
    #[arg(long = "endorsement-key", value_name = "KEY")]
    endorsement_keys: Vec<String>,
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
    let mut builder = Client::builder(args.coordinator)
        .state_directory(args.state)
        .examples(Examples::none())
        .endorsement_keys(args.endorsement_keys)
        .channel(args.channel.clone());
    if let Some(path) = args.ca {
        builder = builder.certificate(std::fs::read(&path).map_err(CliError::read(&path))?);
    }
    if let Some(token) = args.token {
        builder = builder.enrolment_token(token);
    }
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
