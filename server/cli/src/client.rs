mod events;
mod examples;
mod install;

use folkmoot_client::{Budget, Client, ClientError, Device, TrafficLimits};
use folkmoot_protocol::{ErrorCode, messages::ProtectionLevel};
use folkmoot_telemetry::{LogConfig, LogFormat, init_log};
use folkmoot_terminal::stop_signal;
use serde::Serialize;

pub(super) use install::InstallArgs;

use super::{
    CliError,
    examples_file::ExamplesArgs,
    output::{self, OutputArgs},
};

/// The flags of `folkmoot client`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    install: InstallArgs,
    #[command(flatten)]
    examples: ExamplesArgs,
    /// An attribute that the client reports to the coordinator, for eligibility rules. Can be repeated.
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = parse_attribute)]
    attributes: Vec<(String, String)>,
    /// A private attribute for the device rules of plans. It is evaluated on this machine and never sent, logged or
    /// stored, but it is visible in the process list. Can be repeated.
    #[arg(long = "private-attribute", value_name = "NAME=VALUE", value_parser = parse_attribute)]
    private_attributes: Vec<(String, String)>,
    /// The device to train on: `auto` (the fastest for each plan), `cpu`, `gpu`, or part of an adapter's name. Plans
    /// that cannot run there run on the CPU, with a warning.
    #[arg(long, env = "FOLKMOOT_DEVICE", default_value = "auto", value_name = "auto|cpu|gpu|NAME")]
    device: Device,
    /// The maximum memory that training may use, in bytes. The client declines an assignment that needs more. The
    /// default is 2 GiB.
    #[arg(long, value_name = "BYTES")]
    memory_max: Option<u64>,
    /// The maximum size of a model with its weights, in bytes. The client declines a larger model before it downloads
    /// it. The default is 1 GiB.
    #[arg(long, value_name = "BYTES")]
    model_max: Option<u64>,
    /// The maximum training time per assignment, in seconds. When it is over, the client sends its partial update. The
    /// default is one hour.
    #[arg(long, value_name = "SECONDS")]
    training_max: Option<u64>,
    /// Decline tasks whose versions may combine updates of fewer clients than this. The client relies on the number
    /// that the coordinator states.
    #[arg(long, value_name = "CLIENTS")]
    cohort_min: Option<u64>,
    /// Decline tasks with less protection than this: `central` requires noise, `distributed` requires masks and a share of
    /// the noise that the client adds itself, `local` requires all of the noise from the client. The client cannot verify
    /// central noise.
    #[arg(long, value_name = "none|central|distributed|local")]
    protection_min: Option<ProtectionLevel>,
    /// The maximum number of bytes to send and receive per day (UTC). The client declines an assignment that would
    /// exceed the limit, and checks in again the next day.
    #[arg(long, value_name = "BYTES")]
    bytes_per_day: Option<u64>,
    /// The maximum number of bytes per second in each direction; at least 32768.
    #[arg(long, value_name = "BYTES")]
    bytes_per_second: Option<u64>,
    /// Stop after this many accepted updates. By default, run until ctrl-c.
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

/// Takes part in rounds on local data until ctrl-c, SIGTERM or the requested number of accepted updates.
///
/// # Errors
/// Fails if an option is invalid, if a file cannot be read or written, or if the client cannot continue, for example
/// because the coordinator refuses it.
pub async fn run(args: Args) -> Result<(), CliError> {
    let log = LogConfig { format: LogFormat::Text, level: "warn".into() };
    init_log(&log, std::env::var("RUST_LOG").ok().as_deref())?;
    let (rounds, out) = (args.rounds, args.output);
    let mut client = build(args)?;
    let shutdown = stop_signal()?;
    let summary = match rounds {
        Some(rounds) => Box::pin(client.run_rounds(rounds, shutdown)).await,
        None => Box::pin(client.run(shutdown)).await,
    };
    let ended = Ended { event: "ended", accepted_rounds: summary.map_err(explained)?.accepted_rounds };
    out.print(&ended, |ended| format!("stopped: {} updates were accepted", ended.accepted_rounds))
}

fn build(args: Args) -> Result<Client, CliError> {
    let budget = budget(&args);
    let examples = examples::source(&args.examples)?;
    let out = args.output;
    let mut builder = args
        .install
        .builder()?
        .example_source(examples)
        .device(args.device)
        .budget(budget)
        .traffic_limits(TrafficLimits {
            bytes_per_day: args.bytes_per_day,
            bytes_per_second: args.bytes_per_second,
        })
        .on_event(move |event| events::show(out, &event));
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

/// Converts an error of a client, with a remedy if there is one.
pub(super) fn explained(error: ClientError) -> CliError {
    use ErrorCode::{ClientCertificateInvalid, ClientCertificateMissing, ClientRevoked, ClientUnknown};
    let code = match &error {
        ClientError::Refused { code, .. } => *code,
        ClientError::Transport(error) => error.code(),
        _ => None,
    };
    let remedy = match (&error, code) {
        (ClientError::NoEnrolmentToken, _) => Some(
            "give an enrolment token with --token; an operator can create one with `folkmoot token create`",
        ),
        (_, Some(ClientCertificateMissing | ClientCertificateInvalid)) => Some(
            "give a certificate that the operator has issued, with --client-certificate and --client-key",
        ),
        (ClientError::Refused { .. }, Some(ClientUnknown | ClientRevoked)) => {
            Some("enrol as a new client, with another --state folder and a --token")
        }
        (ClientError::Transport(_), _) => {
            Some("check --coordinator, --ca, --client-certificate, --pin and --token")
        }
        _ => None,
    };
    CliError { remedy: remedy.map(str::to_owned), ..CliError::from(error) }
}

fn parse_attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

/// Prints a progress line. A failure to print is logged and does not stop the client.
fn progress(text: &str) {
    if let Err(error) = output::line(text) {
        tracing::warn!(error = error.message, "cannot print progress");
    }
}
