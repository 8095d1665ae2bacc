//! The most recent log lines, for operators without shell access to the machine.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Mutex, PoisonError},
};

use folkmoot_api::system::LogLineView;
use folkmoot_rounds::clock::Clock;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

/// The maximum number of log lines that are kept.
const LINES_MAX: usize = 500;
/// The maximum number of characters that are kept of each field.
const CHARS_MAX: usize = 1_000;
/// The field of a span that is also kept with the log lines in the span.
const REQUEST_ID: &str = "request_id";

static LINES: Mutex<VecDeque<LogLineView>> = Mutex::new(VecDeque::new());

/// Returns the recent lines, newest first.
pub fn recent_lines() -> Vec<LogLineView> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
}

/// Stores the events that pass the log's filter.
pub(super) struct Recent {
    pub(super) clock: Clock,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recent {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let (Some(text), Some(span)) = (fields.0.remove(REQUEST_ID), context.span(id)) {
            span.extensions_mut().insert(RequestId(text));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut spans = context.event_scope(event).into_iter().flatten();
        let id = spans.find_map(|span| span.extensions().get::<RequestId>().map(|id| id.0.clone()));
        fields.0.extend(id.map(|id| (REQUEST_ID.to_owned(), id)));
        let line = LogLineView {
            at: (self.clock)(),
            level: event.metadata().level().to_string(),
            target: event.metadata().target().to_owned(),
            message: fields.0.remove("message").unwrap_or_default(),
            fields: fields.0,
        };
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// The request of a span.
struct RequestId(String);

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.chars().take(CHARS_MAX).collect());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use folkmoot_protocol::Timestamp;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn the_newest_lines_are_kept_with_their_fields() {
        let clock: Clock = Arc::new(|| Timestamp(7));
        let subscriber = tracing_subscriber::registry().with(Recent { clock });
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::error_span!("http", request_id = "4f1c", secret = "no");
            let _inside = span.enter();
            for number in 0..LINES_MAX + 3 {
                tracing::info!(number, who = "me", "line {number}");
            }
        });
        // Other tests of this process may log, too.
        let lines: Vec<LogLineView> = recent_lines()
            .into_iter()
            .filter(|line| line.fields.get("who").is_some_and(|who| who == "me"))
            .collect();
        let newest = lines.first().unwrap();
        assert_eq!(
            (newest.message.as_str(), newest.level.as_str()),
            (&*format!("line {}", LINES_MAX + 2), "INFO")
        );
        assert_eq!((newest.at, newest.fields["number"].clone()), (Timestamp(7), (LINES_MAX + 2).to_string()));
        let own: Vec<&str> = newest.fields.keys().map(String::as_str).collect();
        assert_eq!(
            (own, newest.fields["request_id"].as_str()),
            (vec!["number", "request_id", "who"], "4f1c")
        );
        assert!(recent_lines().len() <= LINES_MAX);
    }
}
