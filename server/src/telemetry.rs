//! What the process says about itself: its log on stderr, and its metrics.

mod recent;

use std::{io, io::IsTerminal, time::Duration};

use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
pub use recent::recent_lines;
use tracing_subscriber::{EnvFilter, Layer, util::TryInitError};

use crate::{
    clock::system_clock,
    config::{LogConfig, LogFormat},
};

/// How often old observations are cleared away.
const UPKEEP: Duration = Duration::from_secs(5);

/// Why there is no log or no metrics.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is none.
    #[error("`{filter}` is no filter for the log: {detail}")]
    Filter {
        /// The filter.
        filter: String,
        /// Why.
        detail: String,
    },
    /// The process logs already.
    #[error("the log is set up already: {0}")]
    Log(#[from] TryInitError),
    /// The process counts already.
    #[error("the metrics cannot be recorded: {0}")]
    Metrics(#[from] BuildError),
}

/// Writes the log to stderr from now on. `rust_log` is the variable RUST_LOG, which wins over the level.
///
/// # Errors
/// [`TelemetryError::Filter`] if the level or the variable is no filter.
pub fn init_log(config: &LogConfig, rust_log: Option<&str>) -> Result<(), TelemetryError> {
    use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};
    let text = rust_log.filter(|text| !text.trim().is_empty()).unwrap_or(&config.level);
    let invalid =
        |error: &dyn ToString| TelemetryError::Filter { filter: text.into(), detail: error.to_string() };
    let filter = EnvFilter::try_new(text).map_err(|error| invalid(&error))?;
    let lines =
        tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let lines = match config.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let recent = recent::Recent { clock: system_clock() };
    tracing_subscriber::registry().with(filter).with(lines).with(recent).try_init()?;
    Ok(())
}

/// Records metrics from now on, and clears old observations away as long as the runtime lives.
///
/// # Errors
/// [`TelemetryError::Metrics`] if the process records metrics already.
pub fn record_metrics() -> Result<PrometheusHandle, TelemetryError> {
    let handle = PrometheusBuilder::new().install_recorder()?;
    let upkept = handle.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            upkept.run_upkeep();
        }
    });
    Ok(handle)
}
