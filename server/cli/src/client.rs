mod events;

use std::path::PathBuf;

use folkmoot_client::{Budget, Client, ClientError, Device, TrafficLimits};
use folkmoot_protocol::{ErrorCode, messages::ProtectionLevel};
use folkmoot_service::telemetry::{self, LogConfig, LogFormat};
use serde::Serialize;

use super::{
    CliError,
    examples_file::ExamplesArgs,
    output::{self, OutputArgs},
    stop_signal::stop_signal,
};

/// How the client works.
#[derive(clap::Args)]
pub struct Args {
    /// The coordinator, for example https://coordinator.example:8443.
    #[arg(long, env = "FOLKMOOT_URL", value_name = "URL")]
    coordinator: String,
    /// The root certificate that vouches for the coordinator (its ca.pem); without it the system's are asked.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The enrolment token; needed only the first time.
    #[arg(long, env = "FOLKMOOT_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    #[command(flatten)]
    examples: ExamplesArgs,
    /// Where the client keeps its key, its session and what it has fetched.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// What the client states about itself, for eligibility; may be given several times.
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = parse_attribute)]
    attributes: Vec<(String, String)>,
    /// What the device rules of plans are evaluated with, here: it is never sent, logged or stored; may be given several
    /// times. It can be seen in the list of this machine's processes.
    #[arg(long = "private-attribute", value_name = "NAME=VALUE", value_parser = parse_attribute)]
    private_attributes: Vec<(String, String)>,
    /// Where to train: `auto` (where this plan is faster), `cpu`, `gpu`, or a part of an adapter's name. What cannot be
    /// trained there is trained on the CPU, with a warning.
    #[arg(long, env = "FOLKMOOT_DEVICE", default_value = "auto", value_name = "auto|cpu|gpu|NAME")]
    device: Device,
    /// Bytes that a training may hold, whatever its plan asks for: an assignment that needs more is declined; 2 GiB if it is
    /// not given.
    #[arg(long, value_name = "BYTES")]
    memory_max: Option<u64>,
    /// Bytes of the model and its weights, at most: an assignment that has more is declined before they are fetched; 1 GiB if it is
    /// not given.
    #[arg(long, value_name = "BYTES")]
    model_max: Option<u64>,
    /// Seconds of training in one assignment, at most; what was trained until then is sent. An hour if it is not given.
    #[arg(long, value_name = "SECONDS")]
    training_max: Option<u64>,
    /// Decline tasks whose versions may combine the updates of fewer clients than this, by the coordinator's word.
    #[arg(long, value_name = "CLIENTS")]
    cohort_min: Option<u64>,
    /// Decline tasks without noise (`central`), or those in which the client does not add it itself (`local`). Central noise is
    /// the coordinator's promise: the client cannot check it.
    #[arg(long, value_name = "none|central|local")]
    protection_min: Option<ProtectionLevel>,
    /// Bytes a day (UTC) that are sent and fetched at most: an assignment that would pass them is declined, and the next one
    /// is asked for on the next day.
    #[arg(long, value_name = "BYTES")]
    bytes_per_day: Option<u64>,
    /// Bytes a second, each way, at most; 32768 or more.
    #[arg(long, value_name = "BYTES")]
    bytes_per_second: Option<u64>,
    /// Stop after so many accepted updates; run until ctrl-c without this.
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Ended {
    event: &'static str,
    accepted_rounds: u64,
}

/// Takes part in rounds on local data, until ctrl-c, SIGTERM or the wanted number of rounds.
///
/// # Errors
/// If a file cannot be read, or the coordinator refuses the client.
pub async fn run(args: Args) -> Result<(), CliError> {
    let log = LogConfig { format: LogFormat::Text, level: "warn".into() };
    telemetry::init_log(&log, std::env::var("RUST_LOG").ok().as_deref())?;
    let (rounds, out) = (args.rounds, args.output);
    let mut client = build(args)?;
    let shutdown = stop_signal()?;
    let summary = match rounds {
        Some(rounds) => Box::pin(client.run_rounds(rounds, shutdown)).await,
        None => Box::pin(client.run(shutdown)).await,
    };
    let ended = Ended { event: "ended", accepted_rounds: summary.map_err(explained)?.accepted_rounds };
    out.print(&ended, |ended| format!("ended: {} updates were accepted", ended.accepted_rounds))
}

fn build(args: Args) -> Result<Client, CliError> {
    let budget = budget(&args);
    let examples = args.examples.read()?;
    let out = args.output;
    let mut builder = Client::builder(args.coordinator)
        .state_directory(args.state)
        .examples(examples)
        .device(args.device)
        .budget(budget)
        .traffic_limits(TrafficLimits {
            bytes_per_day: args.bytes_per_day,
            bytes_per_second: args.bytes_per_second,
        })
        .on_event(move |event| events::show(out, &event));
    if let Some(path) = args.ca {
        builder = builder.certificate_pem(std::fs::read(&path).map_err(CliError::read(&path))?);
    }
    if let Some(token) = args.token {
        builder = builder.enrolment_token(token);
    }
    for (name, value) in args.attributes {
        builder = builder.attribute(name, value);
    }
    for (name, value) in args.private_attributes {
        builder = builder.private_attribute(name, value);
    }
    builder.build().map_err(explained)
}

fn budget(args: &Args) -> Budget {
    let default = Budget::default();
    Budget {
        memory_bytes_max: args.memory_max.unwrap_or(default.memory_bytes_max),
        model_bytes_max: args.model_max.unwrap_or(default.model_bytes_max),
        training_seconds_max: args.training_max.unwrap_or(default.training_seconds_max),
        cohort_min: args.cohort_min.unwrap_or(default.cohort_min),
        protection_min: args.protection_min.unwrap_or(default.protection_min),
        ..default
    }
}

fn explained(error: ClientError) -> CliError {
    let remedy = match &error {
        ClientError::NoEnrolmentToken => Some("give one with --token; `folkmoot token create` makes one"),
        ClientError::Refused { code: Some(ErrorCode::ClientUnknown | ErrorCode::ClientRevoked), .. } => {
            Some("enrol as a new client: another --state, and a --token")
        }
        ClientError::Transport(_) => Some("look at --coordinator, --ca and --token"),
        _ => None,
    };
    CliError { remedy: remedy.map(str::to_owned), ..CliError::from(error) }
}

fn parse_attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("NAME=VALUE is expected".into()),
    }
}

/// Prints a line while the client runs; what cannot be printed does not stop it.
fn progress(text: &str) {
    if let Err(error) = output::line(text) {
        tracing::warn!(error = error.message, "progress cannot be shown");
    }
}
