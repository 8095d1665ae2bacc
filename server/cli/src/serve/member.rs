//! `folkmoot serve --role committee`.

use std::path::PathBuf;

use folkmoot_committee::{MemberHost, MemberHostConfig, MemberLimits};
use folkmoot_protocol::Timestamp;
use folkmoot_rounds::clock::system_clock;
use folkmoot_settings::Config;
use folkmoot_telemetry::init_log;
use folkmoot_terminal::stop_signal;
use serde::Serialize;

use crate::{CliError, output::OutputArgs};

/// The flags of a committee member.
#[derive(clap::Args)]
pub struct MemberArgs {
    /// With --role committee: the smallest number of clients whose masks the member sums, whatever a plan says.
    #[arg(long, value_name = "CLIENTS", default_value_t = 3)]
    cohort_min: u64,
    /// With --role committee: the largest number of values that the member sums. Each needs 8 bytes of memory.
    #[arg(long, value_name = "VALUES", default_value_t = 100_000_000)]
    values_max: u64,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum MemberEvent<'a> {
    Serving { url: &'a str, key: String, token_file: PathBuf, ca: Option<PathBuf> },
    Stopping,
    Stopped,
}

/// Runs a committee member until ctrl-c or SIGTERM.
///
/// # Errors
/// If the configuration, the data folder, the certificate or the address cannot be used.
pub async fn run(
    args: MemberArgs,
    output: OutputArgs,
    config: Config,
    has_folder: bool,
) -> Result<(), CliError> {
    if !has_folder {
        let remedy = "add --data and a folder of the member's own, for example --data member-1";
        return Err(CliError::with_remedy(
            "a committee member needs a data folder for its keys and answers",
            remedy,
        ));
    }
    if config.server.client_authority.is_some() {
        let remedy = "remove server.client_authority; a member verifies the token of its coordinator instead";
        return Err(CliError::with_remedy("a committee member asks for no client certificates", remedy));
    }
    init_log(&config.log, std::env::var("RUST_LOG").ok().as_deref())?;
    let stopped = stop_signal()?;
    let now: Timestamp = system_clock()();
    let host = MemberHost::start(host_config(&args, &config), now)?;
    // Coordinators elsewhere reach the member by its name.
    let url = match config.server.host_names.first() {
        Some(name) => format!("{}://{name}:{}", host.scheme(), host.address.port()),
        None => host.url(),
    };
    let (key, token_file) = (String::from(host.key), host.token_file.clone());
    show(output, &MemberEvent::Serving { url: &url, key, token_file, ca: host.root_certificate.clone() })?;
    stopped.await;
    show(output, &MemberEvent::Stopping)?;
    host.stop().await?;
    show(output, &MemberEvent::Stopped)
}

fn host_config(args: &MemberArgs, config: &Config) -> MemberHostConfig {
    let host = config.host_config();
    MemberHostConfig {
        data: host.data,
        listen: host.listen,
        has_tls: host.has_tls,
        host_names: host.host_names,
        certificate: host.certificate,
        http_limits: host.limits,
        limits: MemberLimits::default(),
        cohort_min: args.cohort_min,
        values_max: args.values_max,
    }
}

fn show(output: OutputArgs, event: &MemberEvent<'_>) -> Result<(), CliError> {
    output.print(event, |event| match event {
        MemberEvent::Serving { url, key, token_file, ca } => {
            let mut lines = vec![
                format!("serving as a member of committees at {url}"),
                format!("key for tasks: {key}"),
                String::new(),
                "Give the operator of the coordinator the token, the root certificate and these lines:"
                    .into(),
                "[[committee.members]]".into(),
                format!("key = \"{key}\""),
                format!("url = \"{url}\""),
                format!("token_file = \"{}\"", token_file.display()),
            ];
            lines.extend(ca.as_ref().map(|ca| format!("root_certificate = \"{}\"", ca.display())));
            lines.join("\n")
        }
        MemberEvent::Stopping => "stopping: waiting for open requests".into(),
        MemberEvent::Stopped => "stopped".into(),
    })
}
