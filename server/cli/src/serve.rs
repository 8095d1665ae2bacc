mod aggregator;
mod member;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use folkmoot_edge::tls::{Reload, TlsError};
use folkmoot_rounds::clock::{system_chance, system_clock};
use folkmoot_service::host::{Host, HostConfig};
use folkmoot_settings::{Config, TlsChoice};
use folkmoot_telemetry::{LogFormat, init_log, record_metrics};
use folkmoot_terminal::{Hangups, stop_signal};
use serde::Serialize;

use super::{CliError, config, output::OutputArgs};
use crate::words::words;

/// The flags of `folkmoot serve`.
#[derive(clap::Args)]
pub struct Args {
    /// The role of this process. A committee member sums masks for coordinators that others run. An edge aggregator sums updates
    /// for the coordinator at --upstream. Both use only the address, the data folder, the certificate and the limits.
    #[arg(long, default_value = "coordinator", value_parser = words([
        ("coordinator", "Coordinates training", Role::Coordinator),
        ("committee", "Is a member of committees for secure aggregation", Role::Committee),
        ("aggregator", "Takes the updates of a site's clients, and passes one sum to the coordinator", Role::Aggregator),
    ]))]
    role: Role,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    member: member::MemberArgs,
    #[command(flatten)]
    aggregator: aggregator::AggregatorArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The role of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Coordinator,
    Committee,
    Aggregator,
}

/// The configuration of a coordinator as flags. They override environment variables, and those override the
/// configuration file.
#[derive(clap::Args)]
pub struct SettingsArgs {
    /// The configuration file. The default is ./folkmoot.toml, if it exists.
    #[arg(long, env = "FOLKMOOT_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The address to listen on, for example 0.0.0.0:8443. Port 0 lets the system choose.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The data folder: database, blobs, round log, certificates.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The database: postgres://… or sqlite://…. The default is SQLite in the data folder.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Serve TLS in the coordinator itself (own), or run behind a proxy that serves TLS (off).
    #[arg(long)]
    tls: Option<TlsChoice>,
    /// The certificate to serve, with its chain, as PEM. By default, the coordinator creates its own.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The private key of the certificate, as PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// A host name or address for the coordinator's own certificate, besides localhost and 127.0.0.1. Can be
    /// repeated.
    #[arg(long = "host-name", value_name = "NAME")]
    host_names: Vec<String>,
    /// An origin whose pages may run clients (CORS), for example https://app.example, or * for all. Can be repeated.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allowed_origins: Vec<String>,
    /// The format of the log.
    #[arg(long, value_parser = words([
        ("text", "Text for humans", LogFormat::Text),
        ("json", "One JSON object per line", LogFormat::Json),
    ]))]
    log_format: Option<LogFormat>,
    /// The log level: error, warn, info, debug, trace, or a filter. RUST_LOG overrides it.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ServeEvent<'a> {
    Serving {
        url: &'a str,
        ca: Option<PathBuf>,
        first_api_key: Option<&'a str>,
        first_api_key_file: Option<PathBuf>,
    },
    /// The certificate was reloaded, after SIGHUP or because its files changed.
    CertificateRead {
        /// True if the certificate differs from the previous one.
        is_new: bool,
    },
    CertificateRefused {
        reason: String,
    },
    /// The authority of client certificates and its revocations were reloaded, after SIGHUP or because their files
    /// changed.
    ClientAuthorityRead {
        /// True if a file differs from the previous one.
        is_new: bool,
    },
    ClientAuthorityRefused {
        reason: String,
    },
    /// The coordinator still serves, but is not ready.
    Draining {
        seconds: u64,
    },
    Stopping,
    Stopped,
}

/// The interval for checking the certificate files for changes.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(60);

/// Runs a coordinator until ctrl-c or SIGTERM, then drains it and shuts it down cleanly. A second signal ends the drain.
/// The coordinator reloads its certificate on SIGHUP, and
/// within a minute after the files have changed.
///
/// # Errors
/// If the configuration, the data folder, the database or the address cannot be used.
pub async fn run(args: Args) -> Result<(), CliError> {
    let output = args.output;
    let has_folder = args.settings.data.is_some();
    let config = configured(args.settings)?;
    match args.role {
        Role::Coordinator if args.aggregator.upstream.is_some() => {
            let remedy = "add --role aggregator, or remove --upstream (FOLKMOOT_UPSTREAM)";
            return Err(CliError::with_remedy("a coordinator has no upstream", remedy));
        }
        Role::Coordinator => {}
        Role::Committee => return member::run(args.member, output, config, has_folder).await,
        Role::Aggregator => return aggregator::run(args.aggregator, output, config, has_folder).await,
    }
    init_log(&config.log, std::env::var("RUST_LOG").ok().as_deref())?;
    let metrics = record_metrics()?;
    // Install the signal handlers first, so that an early signal is not lost.
    let stop_signal = stop_signal()?;
    let hangups = Hangups::listen()?;
    let host_config = HostConfig { first_run: Some(folkmoot_demo::first_run()), ..config.host_config() };
    let host = Host::start(host_config, system_clock(), system_chance(), Some(metrics)).await?;
    let url = host.url();
    show(
        output,
        &ServeEvent::Serving {
            url: &url,
            ca: host.root_certificate.clone(),
            first_api_key: host.first_api_key.as_deref(),
            first_api_key_file: host.first_api_key_file.clone(),
        },
    )?;
    let stopped = async {
        stop_signal.await;
        drain(output, &host, config.server.drain_seconds).await
    };
    tokio::select! {
        drained = stopped => drained?,
        failed = keep_certificate(output, &host, hangups) => return failed,
    }
    show(output, &ServeEvent::Stopping)?;
    host.stop().await?;
    show(output, &ServeEvent::Stopped)
}

/// Lets load balancers and other coordinators take over, for `seconds` or until another signal.
async fn drain(output: OutputArgs, host: &Host, seconds: u64) -> Result<(), CliError> {
    if seconds == 0 {
        return Ok(());
    }
    let again = stop_signal()?;
    host.drain();
    show(output, &ServeEvent::Draining { seconds })?;
    // An error means that the time is over.
    let _ = tokio::time::timeout(Duration::from_secs(seconds), again).await;
    Ok(())
}

/// Reloads the certificate and the authority of clients when they may have changed, and prints the results. Returns only
/// if stdout cannot be written.
async fn keep_certificate(output: OutputArgs, host: &Host, mut hangups: Hangups) -> Result<(), CliError> {
    let mut interval = tokio::time::interval(CERTIFICATE_INTERVAL);
    // Skip the first tick, which is immediate: the certificate has just been read.
    interval.tick().await;
    let [mut refused, mut refused_clients] = [None, None];
    loop {
        let is_asked = tokio::select! {
            () = hangups.next() => true,
            _ = interval.tick() => false,
        };
        let result = host.reload_certificate().map(|reload| reload.unwrap_or(Reload::Same));
        match to_print(result, is_asked, &mut refused) {
            Some(Ok(is_new)) => show(output, &ServeEvent::CertificateRead { is_new })?,
            Some(Err(reason)) => {
                tracing::warn!(reason, "cannot reload the certificate; the previous one stays in use");
                show(output, &ServeEvent::CertificateRefused { reason })?;
            }
            None => {}
        }
        let Some(result) = host.reload_client_authority().transpose() else { continue };
        match to_print(result, is_asked, &mut refused_clients) {
            Some(Ok(is_new)) => show(output, &ServeEvent::ClientAuthorityRead { is_new })?,
            Some(Err(reason)) => {
                tracing::warn!(
                    reason,
                    "cannot reload the authority of clients and its revocations; the previous ones stay in use, so revocations \
                     may be out of date"
                );
                show(output, &ServeEvent::ClientAuthorityRefused { reason })?;
            }
            None => {}
        }
    }
}

/// Returns the result of a reload, if it is to be printed: whether the files are new, or the reason of a failure. The same
/// failure is printed once, not every minute. `refused` has the previous failure.
fn to_print(
    result: Result<Reload, TlsError>,
    is_asked: bool,
    refused: &mut Option<String>,
) -> Option<Result<bool, String>> {
    match result {
        Ok(reload) => {
            *refused = None;
            let is_new = reload == Reload::Exchanged;
            (is_new || is_asked).then_some(Ok(is_new))
        }
        Err(error) => {
            let reason = error.to_string();
            let is_known = refused.replace(reason.clone()).is_some_and(|known| known == reason);
            (is_asked || !is_known).then_some(Err(reason))
        }
    }
}

/// Reads the configuration, applies the environment variables and the flags, and validates the result.
///
/// # Errors
/// If the configuration is invalid: the error names the file, line and key, or the variable.
pub fn configured(args: SettingsArgs) -> Result<Config, CliError> {
    let mut config = config::load(args.config.as_deref())?;
    let server = &mut config.server;
    server.listen = args.listen.unwrap_or(server.listen);
    server.tls = args.tls.unwrap_or(server.tls);
    if let Some(data) = args.data {
        server.data = data;
    }
    if let (Some(certificate), Some(key)) = (args.certificate, args.key) {
        (server.certificate, server.key) = (Some(certificate), Some(key));
    }
    if !args.host_names.is_empty() {
        server.host_names = args.host_names;
    }
    if !args.allowed_origins.is_empty() {
        server.allowed_origins = args.allowed_origins;
    }
    config.database.url = args.database.or(config.database.url);
    config.log.format = args.log_format.unwrap_or(config.log.format);
    config.log.level = args.log_level.unwrap_or(config.log.level);
    config.check()?;
    Ok(config)
}

fn show(output: OutputArgs, event: &ServeEvent<'_>) -> Result<(), CliError> {
    output.print(event, |event| match event {
        ServeEvent::Serving { url, ca, first_api_key, first_api_key_file } => {
            let mut lines =
                vec![format!("serving          {url}"), format!("console          {url}/console/")];
            lines.extend(ca.as_ref().map(|ca| format!("root certificate {}", ca.display())));
            lines.extend(
                first_api_key
                    .map(|key| format!("first API key    {key}  (admin; shown only once, so save it)")),
            );
            lines.extend(
                first_api_key_file.as_ref().map(|file| format!("saved in         {}", file.display())),
            );
            lines.join("\n")
        }
        ServeEvent::CertificateRead { is_new: true } => {
            "reloaded the certificate: new connections use the new one".into()
        }
        ServeEvent::CertificateRead { is_new: false } => {
            "reloaded the certificate: it has not changed".into()
        }
        ServeEvent::CertificateRefused { reason } => {
            format!("cannot reload the certificate, so the previous one stays in use: {reason}")
        }
        ServeEvent::ClientAuthorityRead { is_new: true } => {
            "reloaded the authority of clients and its revocations: connections are judged by the new ones".into()
        }
        ServeEvent::ClientAuthorityRead { is_new: false } => {
            "reloaded the authority of clients and its revocations: they have not changed".into()
        }
        ServeEvent::ClientAuthorityRefused { reason } => {
            format!(
                "cannot reload the authority of clients and its revocations. The previous ones stay in use, so revocations may \
                 be out of date: {reason}"
            )
        }
        ServeEvent::Draining { seconds } => {
            format!("draining: other coordinators take over; stopping in {seconds} s, or at the next signal")
        }
        ServeEvent::Stopping => "stopping: waiting for open requests and steps".into(),
        ServeEvent::Stopped => "stopped".into(),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: SettingsArgs,
    }

    #[test]
    fn a_flag_wins_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        std::fs::write(&file, "[server]\nlisten = \"127.0.0.1:1\"\ntls = \"off\"\n[log]\nlevel = \"warn\"\n")
            .unwrap();
        let file = file.to_str().unwrap();
        let line = Line::parse_from([
            "serve",
            "--config",
            file,
            "--listen",
            "127.0.0.1:2",
            "--host-name",
            "a.example",
        ]);
        let config = configured(line.args).unwrap();
        assert_eq!(config.server.listen.port(), 2);
        assert_eq!(config.server.tls, TlsChoice::Off);
        assert_eq!(config.server.host_names, ["a.example"]);
        assert_eq!(config.log.level, "warn");
    }
}
