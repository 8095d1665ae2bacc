use std::{net::SocketAddr, path::PathBuf};

use serde::Serialize;

use super::{CliError, config, demo, output::OutputArgs, stop_signal::stop_signal};
use crate::{
    clock::{system_chance, system_clock},
    config::{Config, LogFormat, TlsChoice},
    host::{Host, HostConfig},
    telemetry,
};

/// How to serve. A flag wins over the environment, which wins over the file.
#[derive(clap::Args)]
pub struct Args {
    /// The configuration; ./folkmoot.toml if it is there and this is not given.
    #[arg(long, env = "FOLKMOOT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address to listen on, for example 0.0.0.0:8443; port 0 lets the system choose.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The data folder: database, blobs, round log, certificates.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The database, postgres://… or sqlite://…; without it, SQLite in the data folder.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Who has the certificate: the coordinator, or a proxy in front of it.
    #[arg(long)]
    tls: Option<TlsChoice>,
    /// A name or address in the own certificate, besides localhost and 127.0.0.1; may be given several times.
    #[arg(long = "host-name", value_name = "NAME")]
    host_names: Vec<String>,
    /// An origin whose pages may be clients, https://app.example, or * for all; may be given several times.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allowed_origins: Vec<String>,
    /// How a line of the log looks.
    #[arg(long)]
    log_format: Option<LogFormat>,
    /// What is logged: error, warn, info, debug, trace, or a filter. RUST_LOG wins over it.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ServeEvent<'a> {
    Serving { url: &'a str, ca: Option<PathBuf>, first_api_key: Option<&'a str> },
    Stopping,
    Stopped,
}

/// Runs a coordinator until ctrl-c or SIGTERM, and stops it in good order.
///
/// # Errors
/// If the configuration, the data folder, the database or the address cannot be used.
pub async fn run(args: Args) -> Result<(), CliError> {
    let output = args.output;
    let config = configured(args)?;
    telemetry::init_log(&config.log, std::env::var("RUST_LOG").ok().as_deref())?;
    let metrics = telemetry::record_metrics()?;
    // Listen for signals before anything is started: one that comes early is not lost.
    let stop_signal = stop_signal()?;
    let host_config = HostConfig { first_run: Some(demo::first_run()), ..config.host_config() };
    let host = Host::start(host_config, system_clock(), system_chance(), Some(metrics)).await?;
    let url = host.url();
    show(
        output,
        &ServeEvent::Serving {
            url: &url,
            ca: host.root_certificate.clone(),
            first_api_key: host.first_api_key.as_deref(),
        },
    )?;
    stop_signal.await;
    show(output, &ServeEvent::Stopping)?;
    host.stop().await?;
    show(output, &ServeEvent::Stopped)
}

fn configured(args: Args) -> Result<Config, CliError> {
    let mut config = config::load(args.config.as_deref())?;
    let server = &mut config.server;
    server.listen = args.listen.unwrap_or(server.listen);
    server.tls = args.tls.unwrap_or(server.tls);
    if let Some(data) = args.data {
        server.data = data;
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
        ServeEvent::Serving { url, ca, first_api_key } => {
            let mut lines =
                vec![format!("serving          {url}"), format!("console          {url}/console/")];
            lines.extend(ca.as_ref().map(|ca| format!("root certificate {}", ca.display())));
            lines.extend(
                first_api_key.map(|key| format!("first API key    {key}  (admin; shown once, keep it)")),
            );
            lines.join("\n")
        }
        ServeEvent::Stopping => "stopping: open requests and steps are ended".into(),
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
        args: Args,
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
