use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The minimum time between two log lines about the same limit.
const QUIET: Duration = Duration::from_secs(60);

/// For each limit, the time of its last log line and the number of hits since then. Like the log, this is global to the
/// process.
static LAST: LazyLock<Mutex<BTreeMap<&'static str, (Instant, u64)>>> = LazyLock::new(Mutex::default);

/// Records that a limit was hit: the metric `folkmoot_limit_hits_total` counts every hit, and the log reports it at
/// most once a minute.
pub fn warn_of(limit: &'static str, happened: &str) {
    metrics::counter!("folkmoot_limit_hits_total", "limit" => limit).increment(1);
    if let Some(unsaid) = unsaid(limit, Instant::now()) {
        tracing::warn!(limit, since_last = unsaid, "{happened}");
    }
}

/// Returns the number of hits since the last log line, if it is time for another.
fn unsaid(limit: &'static str, now: Instant) -> Option<u64> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match last.get_mut(limit) {
        Some((at, count)) if now.saturating_duration_since(*at) < QUIET => {
            *count += 1;
            None
        }
        Some((at, count)) => {
            *at = now;
            Some(std::mem::take(count) + 1)
        }
        None => {
            last.insert(limit, (now, 0));
            Some(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_written_of_once_a_minute_with_its_count() {
        let now = Instant::now();
        assert_eq!(unsaid("a limit of this test", now), Some(1));
        assert_eq!(unsaid("a limit of this test", now + QUIET / 2), None);
        assert_eq!(unsaid("another of this test", now + QUIET / 2), Some(1));
        assert_eq!(unsaid("a limit of this test", now + QUIET), Some(2));
    }
}
