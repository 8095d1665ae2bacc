#![doc = include_str!("../README.md")]

mod log;
pub mod printable;
mod recent;

use std::{io, io::IsTerminal, time::Duration};

use folkmoot_rounds::clock::system_clock;
pub use log::{LogConfig, LogFormat};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
pub use recent::recent_lines;
use tracing_subscriber::{EnvFilter, Layer, util::TryInitError};

/// The interval at which old metric observations are removed.
const UPKEEP: Duration = Duration::from_secs(5);

/// The reason why the log or the metrics cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is not valid.
    #[error("`{filter}` is not a valid log filter: {detail}")]
    Filter {
        /// The text of the filter.
        filter: String,
        /// The reason why the filter is not valid.
        detail: String,
    },
    /// The process already has a log.
    #[error("the log is already set up: {0}")]
    Log(#[from] TryInitError),
    /// The process already records metrics.
    #[error("the metrics cannot be recorded: {0}")]
    Metrics(#[from] BuildError),
}

/// Writes the log to stderr from now on. `rust_log` is the value of RUST_LOG, which takes precedence over the
/// configured level.
///
/// # Errors
/// [`TelemetryError::Filter`] if the level or variable is not a valid filter.
pub fn init_log(config: &LogConfig, rust_log: Option<&str>) -> Result<(), TelemetryError> {
    use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};
    let text = rust_log.filter(|text| !text.trim().is_empty()).unwrap_or(&config.level);
    let invalid =
        |error: &dyn ToString| TelemetryError::Filter { filter: text.into(), detail: error.to_string() };
    let filter = EnvFilter::try_new(text).map_err(|error| invalid(&error))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| OneLine(io::stderr()))
        .with_ansi(io::stderr().is_terminal());
    let lines = match config.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let recent = recent::Recent { clock: system_clock() };
    tracing_subscriber::registry().with(filter).with(lines).with(recent).try_init()?;
    Ok(())
}

/// Writes each event as one line, even if its fields contain line breaks. This works because the subscriber writes each
/// event in one call.
struct OneLine<W>(W);

impl<W: io::Write> io::Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.write_all(printable::log_line(&String::from_utf8_lossy(event)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Records metrics from now on, and removes old observations as long as the runtime lives.
///
/// # Errors
/// [`TelemetryError::Metrics`] if the process already records metrics.
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_came_from_outside_cannot_forge_a_line() {
        for is_coloured in [false, true] {
            let written = Written::default();
            let writer = written.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_writer(move || OneLine(writer.clone()))
                .with_ansi(is_coloured)
                .finish();
            let detail = "no task \u{1b}[2J\u{7}\n2026-01-01T00:00:00Z ERROR FORGED";
            tracing::subscriber::with_default(subscriber, || {
                tracing::info!(detail = %detail, "refused");
                tracing::info!("{detail}");
            });
            let bytes = written.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(text.lines().count(), 2, "{text:?}");
            assert!(
                text.ends_with('\n') && !text.contains("\u{1b}[2J") && !text.contains('\u{7}'),
                "{text:?}"
            );
        }
    }
}
