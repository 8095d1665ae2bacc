//! `folkmoot serve --role aggregator`.

use std::path::PathBuf;

use folkmoot_api::AdminError;
use folkmoot_edge::tls::Reload;
use folkmoot_edge_aggregator::{EdgeHost, EdgeHostConfig, EdgeHostError};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::clock::system_clock;
use folkmoot_settings::Config;
use folkmoot_telemetry::init_log;
use folkmoot_terminal::{Hangups, stop_signal};
use serde::Serialize;

use super::CERTIFICATE_INTERVAL;
use crate::{CliError, output::OutputArgs};

/// The flags of an edge aggregator.
#[derive(clap::Args)]
pub struct AggregatorArgs {
    /// With --role aggregator: the URL of the coordinator, or of an aggregator in front of it.
    #[arg(long, env = "FOLKMOOT_UPSTREAM", value_name = "URL")]
    pub upstream: Option<String>,
    /// With --role aggregator: an API key of the role `aggregator`, as ID.SECRET. Use the environment variable to keep the key out of the
    /// shell history.
    #[arg(long, env = "FOLKMOOT_UPSTREAM_KEY", value_name = "KEY", hide_env_values = true)]
    upstream_key: Option<String>,
    /// With --role aggregator: the root certificate of the upstream to trust. By default, the system's root certificates are trusted.
    #[arg(long, env = "FOLKMOOT_UPSTREAM_CA", value_name = "FILE")]
    upstream_ca: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum AggregatorEvent<'a> {
    Serving { url: &'a str, upstream: &'a str, ca: Option<PathBuf> },
    Stopping,
    Stopped,
}

/// Runs an edge aggregator until ctrl-c or SIGTERM.
///
/// # Errors
/// If the configuration, the data folder, the certificate or the address cannot be used, or the coordinator cannot be reached or
/// refuses the key.
pub async fn run(
    args: AggregatorArgs,
    output: OutputArgs,
    config: Config,
    has_folder: bool,
) -> Result<(), CliError> {
    let missing = |what: &str, remedy: &str| CliError::with_remedy(what.to_owned(), remedy);
    let upstream = args.upstream.filter(|url| !url.trim().is_empty()).ok_or_else(|| {
        missing(
            "an edge aggregator needs the address of its coordinator",
            "give --upstream, for example https://fl.example",
        )
    })?;
    let api_key = args.upstream_key.filter(|key| !key.trim().is_empty()).ok_or_else(|| {
        missing(
            "an edge aggregator needs an API key of its own",
            "create one with `folkmoot key create NAME --role aggregator`, and give it in FOLKMOOT_UPSTREAM_KEY",
        )
    })?;
    if !has_folder {
        let remedy = "add --data and a folder of the aggregator's own, for example --data aggregator-1";
        return Err(missing("an edge aggregator needs a data folder for the updates of open rounds", remedy));
    }
    if config.server.client_authority.is_some() {
        let remedy =
            "remove server.client_authority; the coordinator verifies the signatures of clients instead";
        return Err(missing("an edge aggregator asks for no client certificates", remedy));
    }
    init_log(&config.log, std::env::var("RUST_LOG").ok().as_deref())?;
    let stopped = stop_signal()?;
    let hangups = Hangups::listen()?;
    let ca = args.upstream_ca.as_ref();
    let upstream_ca = ca.map(|path| std::fs::read(path).map_err(CliError::read(path))).transpose()?;
    let host = config.host_config();
    let host = EdgeHostConfig {
        data: host.data,
        listen: host.listen,
        has_tls: host.has_tls,
        host_names: host.host_names,
        certificate: host.certificate,
        limits: host.limits,
        upstream: upstream.clone(),
        api_key,
        upstream_ca,
    };
    let host = EdgeHost::start(host, system_clock()()).await.map_err(explained)?;
    // Clients elsewhere reach the aggregator by its name.
    let url = match config.server.host_names.first() {
        Some(name) => format!("{}://{name}:{}", host.scheme(), host.address.port()),
        None => host.url(),
    };
    show(
        output,
        &AggregatorEvent::Serving { url: &url, upstream: &upstream, ca: host.root_certificate.clone() },
    )?;
    tokio::select! {
        () = stopped => {}
        () = keep_certificate(&host, hangups) => {}
    }
    show(output, &AggregatorEvent::Stopping)?;
    host.stop().await.map_err(EdgeHostError::from)?;
    show(output, &AggregatorEvent::Stopped)
}

/// Reloads the certificate on SIGHUP, and within a minute after its files have changed. Never returns.
async fn keep_certificate(host: &EdgeHost, mut hangups: Hangups) {
    let mut interval = tokio::time::interval(CERTIFICATE_INTERVAL);
    loop {
        tokio::select! {
            () = hangups.next() => {}
            _ = interval.tick() => {}
        }
        match host.reload_certificate(system_clock()()) {
            Ok(Some(Reload::Exchanged)) => {
                tracing::info!("reloaded the certificate: new connections use the new one")
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot reload the certificate; the previous one stays in use")
            }
        }
    }
}

/// Adds what helps against an error of the coordinator.
fn explained(error: EdgeHostError) -> CliError {
    let EdgeHostError::Coordinator(error) = error else { return error.into() };
    let remedy = match (&error, error.code()) {
        (_, Some(ErrorCode::ApiKeyMissing | ErrorCode::ApiKeyInvalid | ErrorCode::RoleInsufficient)) => {
            "check FOLKMOOT_UPSTREAM_KEY; an admin can create a key with `folkmoot key create NAME --role aggregator`"
        }
        (AdminError::Unreachable(_), _) => {
            "check --upstream, and that the coordinator is running. If it uses its own certificate authority, copy its ca.pem \
             here, and name it with --upstream-ca"
        }
        (AdminError::Answer { .. }, _) => {
            "check that --upstream is the address of a coordinator of this version"
        }
        _ => return CliError::from(error),
    };
    CliError::with_remedy(error.to_string(), remedy)
}

fn show(output: OutputArgs, event: &AggregatorEvent<'_>) -> Result<(), CliError> {
    output.print(event, |event| match event {
        AggregatorEvent::Serving { url, upstream, ca } => {
            let mut lines = vec![format!("serving          {url}"), format!("upstream         {upstream}")];
            lines.extend(ca.as_ref().map(|ca| format!("root certificate {}", ca.display())));
            lines.join("\n")
        }
        AggregatorEvent::Stopping => "stopping: waiting for open requests".into(),
        AggregatorEvent::Stopped => "stopped".into(),
    })
}
