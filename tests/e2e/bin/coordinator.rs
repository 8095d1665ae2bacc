//! A coordinator in a process of its own, for tests that kill it. It serves until its standard input ends.

use std::{error::Error, io::Write};

use folkmoot_server::{clock, host::Host};
use folkmoot_tests::coordinator_process::CoordinatorConfig;
use metrics_exporter_prometheus::PrometheusBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().nth(1).ok_or("the configuration is expected as JSON")?;
    let config: CoordinatorConfig = serde_json::from_str(&argument)?;
    // The test reads these lines to learn where a round stands.
    tracing_subscriber::fmt().json().with_writer(std::io::stderr).with_env_filter("info").init();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()?
        .block_on(serve(&config))
}

async fn serve(config: &CoordinatorConfig) -> Result<(), Box<dyn Error>> {
    let metrics = PrometheusBuilder::new().install_recorder()?;
    let host =
        Host::start(config.host(), clock::system_clock(), clock::system_chance(), Some(metrics)).await?;
    println!("ready");
    std::io::stdout().flush()?;
    tokio::task::spawn_blocking(|| std::io::Read::read_to_end(&mut std::io::stdin(), &mut Vec::new()))
        .await??;
    Ok(host.stop().await?)
}
