use std::{
    fmt::{self, Write},
    sync::Arc,
};

use tracing::{Event, Level, Subscriber, field::Field, field::Visit};
use tracing_subscriber::{
    Layer, filter::LevelFilter, layer::Context, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::CallbackError;

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is wrong, but the client continues.
    Warn,
    /// An important action.
    Info,
    /// Every step.
    Debug,
}

/// Receives the client's log. It never contains examples. Private information appears only if the app's own texts
/// contain it.
#[uniffi::export(with_foreign)]
pub trait LogSink: Send + Sync {
    /// Receives a line. `target` names the part of the client that wrote the line. This function must not block.
    fn log(&self, level: LogLevel, target: String, line: String) -> Result<(), CallbackError>;
}

/// Sends the log of all clients of this process to this sink, from this level on. Only the first call has an effect.
/// Returns whether this was the first call.
#[uniffi::export]
pub fn set_log_sink(sink: Arc<dyn LogSink>, level: LogLevel) -> bool {
    let filter = LevelFilter::from_level(match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
    });
    let layer = SinkLayer(sink).with_filter(filter);
    tracing_subscriber::registry().with(layer).try_init().is_ok()
}

struct SinkLayer(Arc<dyn LogSink>);

impl<S: Subscriber> Layer<S> for SinkLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if !metadata.target().starts_with("folkmoot") {
            return;
        }
        let level = match *metadata.level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            _ => LogLevel::Debug,
        };
        let mut line = Line::default();
        event.record(&mut line);
        // If the log cannot be written, there is nowhere to report it.
        let _ = self.0.log(level, metadata.target().to_owned(), line.message + &line.fields);
    }
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        // Writing to a string cannot fail.
        let _ = written;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<(LogLevel, String)>>);

    impl LogSink for Heard {
        fn log(&self, level: LogLevel, _: String, line: String) -> Result<(), CallbackError> {
            self.0.lock().unwrap().push((level, line));
            Ok(())
        }
    }

    #[test]
    fn lines_reach_the_sink_with_their_fields_and_not_those_of_others() {
        let heard = Arc::new(Heard::default());
        let layer = SinkLayer(Arc::clone(&heard) as Arc<dyn LogSink>).with_filter(LevelFilter::INFO);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!(target: "folkmoot_client", steps = 3, "training rests");
            tracing::debug!(target: "folkmoot_client", "a step");
            tracing::warn!(target: "hyper", "not ours");
        });
        assert_eq!(*heard.0.lock().unwrap(), [(LogLevel::Warn, "training rests steps=3".to_owned())]);
    }
}
