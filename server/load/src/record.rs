//! Latencies and failures of requests, by kind.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use folkmoot_client::TransportError;
use hdrhistogram::Histogram;
use serde::Serialize;
use tokio::time::Instant;

use super::LoadError;

/// The longest latency that is distinguished, in microseconds: one hour. Longer ones count as this.
const MICROSECONDS_MAX: u64 = 60 * 60 * 1_000_000;
/// The number of significant decimal digits of a latency.
const DIGITS: u8 = 3;
/// The percentiles at which a report draws its curve.
const CURVE: [f64; 23] = [
    0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0, 85.0,
    90.0, 95.0, 98.0, 99.0, 100.0,
];

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An enrolment.
    Enrol,
    /// The first check-in of a device that then stays connected. It opens the connection.
    Connect,
    /// A check-in at the rate, which does not wait.
    CheckIn,
    /// A check-in that waits for work. Its latency is mostly the wait.
    Wait,
    /// A download of weights.
    Download,
    /// An upload of an update, with its interruptions.
    Upload,
    /// An assignment that was given up.
    Abort,
}

impl Kind {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enrol => "enrol",
            Self::Connect => "connect",
            Self::CheckIn => "check-in",
            Self::Wait => "wait",
            Self::Download => "download",
            Self::Upload => "upload",
            Self::Abort => "abort",
        }
    }
}

/// Collects the latencies and failures of a load test.
#[derive(Default)]
pub struct Recorder {
    kinds: Mutex<BTreeMap<Kind, Sample>>,
    connected: AtomicUsize,
    connected_max: AtomicUsize,
}

struct Sample {
    latencies: Histogram<u64>,
    failures: BTreeMap<String, u64>,
    dropped: u64,
}

impl Default for Sample {
    fn default() -> Self {
        let latencies = Histogram::new_with_max(MICROSECONDS_MAX, DIGITS)
            .expect("the limits of a histogram are constants");
        Self { latencies, failures: BTreeMap::new(), dropped: 0 }
    }
}

/// The counts so far, for a line of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of devices that wait.
    pub connected: usize,
    /// The number of answered requests at the rate.
    pub check_ins: u64,
    /// The number of accepted updates.
    pub uploads: u64,
    /// The number of failed requests of any kind.
    pub failures: u64,
}

impl Recorder {
    /// Waits for a request that began, or should have begun, at `since`, and records its latency or failure.
    pub async fn time<T, E: Into<LoadError>>(
        &self,
        kind: Kind,
        since: Instant,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<T, LoadError> {
        let answer = request.await.map_err(Into::into);
        match &answer {
            Ok(_) => self.answered(kind, since.elapsed()),
            Err(error) => self.failed(kind, error),
        }
        answer
    }

    /// Records the latency of an answered request.
    pub fn answered(&self, kind: Kind, latency: Duration) {
        let microseconds = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.lock().entry(kind).or_default().latencies.saturating_record(microseconds);
    }

    /// Counts a failed request by its error code.
    pub fn failed(&self, kind: Kind, error: &LoadError) {
        *self.lock().entry(kind).or_default().failures.entry(label(error)).or_default() += 1;
    }

    /// Counts a request whose connection the device dropped on purpose.
    pub fn dropped(&self, kind: Kind) {
        self.lock().entry(kind).or_default().dropped += 1;
    }

    /// Counts a device as waiting until the returned value is dropped.
    pub fn connected(&self) -> Connected<'_> {
        let connected = self.connected.fetch_add(1, Ordering::Relaxed) + 1;
        self.connected_max.fetch_max(connected, Ordering::Relaxed);
        Connected(self)
    }

    /// Returns the maximum number of devices that waited at the same time.
    pub fn connected_max(&self) -> usize {
        self.connected_max.load(Ordering::Relaxed)
    }

    /// Returns the counts so far.
    pub fn progress(&self) -> Progress {
        let kinds = self.lock();
        let answered = |kind| kinds.get(&kind).map_or(0, |sample| sample.latencies.len());
        Progress {
            connected: self.connected.load(Ordering::Relaxed),
            check_ins: answered(Kind::CheckIn),
            uploads: answered(Kind::Upload),
            failures: kinds.values().flat_map(|sample| sample.failures.values()).sum(),
        }
    }

    /// Returns the results of every kind that occurred. `seconds` returns the duration of the phase in which a kind
    /// occurs.
    pub fn report(&self, seconds: impl Fn(Kind) -> f64) -> Vec<KindReport> {
        let kinds = self.lock();
        kinds.iter().map(|(&kind, sample)| sample.report(kind, seconds(kind))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Kind, Sample>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A device that waits.
pub struct Connected<'a>(&'a Recorder);

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.connected.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The results of one kind of request.
#[derive(Clone, Debug, Serialize)]
pub struct KindReport {
    /// The kind.
    pub kind: Kind,
    /// The number of answered requests.
    pub answered: u64,
    /// Answered requests per second of the phase.
    pub per_second: f64,
    /// The number of failed requests.
    pub failed: u64,
    /// The number of requests whose connection the device dropped on purpose.
    pub dropped: u64,
    /// The median latency, in milliseconds.
    pub p50_ms: f64,
    /// The 90th percentile of the latency, in milliseconds.
    pub p90_ms: f64,
    /// The 99th percentile of the latency, in milliseconds.
    pub p99_ms: f64,
    /// The longest latency, in milliseconds.
    pub max_ms: f64,
    /// The failed requests by error code. `network` stands for a broken connection, `timeout` for an answer that was
    /// late.
    pub failures: BTreeMap<String, u64>,
    /// Points of the percentile curve: percentile, milliseconds.
    pub curve: Vec<(f64, f64)>,
}

impl Sample {
    fn report(&self, kind: Kind, seconds: f64) -> KindReport {
        let at = |percentile| self.latencies.value_at_percentile(percentile) as f64 / 1e3;
        let answered = self.latencies.len();
        KindReport {
            kind,
            answered,
            per_second: if seconds > 0.0 { answered as f64 / seconds } else { 0.0 },
            failed: self.failures.values().sum(),
            dropped: self.dropped,
            p50_ms: at(50.0),
            p90_ms: at(90.0),
            p99_ms: at(99.0),
            max_ms: self.latencies.max() as f64 / 1e3,
            failures: self.failures.clone(),
            curve: CURVE.map(|percentile| (percentile, at(percentile))).to_vec(),
        }
    }
}

/// Returns the error code of a refusal, or a word for another failure.
fn label(error: &LoadError) -> String {
    match error {
        LoadError::Transport(TransportError::Refused(problem)) => {
            problem.code.known().map_or_else(|| "unknown_code".to_owned(), |code| code.to_string())
        }
        LoadError::Transport(TransportError::Network(error)) if error.is_timeout() => "timeout".to_owned(),
        LoadError::Transport(TransportError::Silence(_)) => "timeout".to_owned(),
        LoadError::Transport(TransportError::Network(_)) => "network".to_owned(),
        LoadError::OtherSize { .. } => "other_size".to_owned(),
        LoadError::NotAccepted { .. } => "not_accepted".to_owned(),
        _ => "other".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_become_percentiles_and_failures_are_counted_by_reason() {
        let recorder = Recorder::default();
        for milliseconds in 1..=100 {
            recorder.answered(Kind::CheckIn, Duration::from_millis(milliseconds));
        }
        recorder.failed(Kind::CheckIn, &TransportError::Silence(30).into());
        recorder.failed(Kind::CheckIn, &LoadError::NotAccepted { received: 1, length: 2 });
        recorder.dropped(Kind::CheckIn);
        let [report] = recorder.report(|_| 10.0).try_into().unwrap();
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 2e-3;
        assert!(near(report.p50_ms, 50.0) && near(report.p90_ms, 90.0), "{report:?}");
        assert!(near(report.p99_ms, 99.0) && near(report.max_ms, 100.0), "{report:?}");
        assert_eq!((report.answered, report.per_second, report.failed, report.dropped), (100, 10.0, 2, 1));
        let reasons: Vec<_> = report.failures.into_iter().collect();
        assert_eq!(reasons, [("not_accepted".to_owned(), 1), ("timeout".to_owned(), 1)]);
    }

    #[test]
    fn a_latency_beyond_the_range_counts_as_its_end() {
        let recorder = Recorder::default();
        recorder.answered(Kind::Wait, Duration::from_secs(1 << 40));
        let [report] = recorder.report(|_| 0.0).try_into().unwrap();
        assert!(report.max_ms >= 3_600_000.0 && report.max_ms < 3_700_000.0, "{}", report.max_ms);
        assert_eq!(report.per_second, 0.0);
    }

    #[test]
    fn a_device_waits_until_its_guard_is_dropped() {
        let recorder = Recorder::default();
        let both = [recorder.connected(), recorder.connected()];
        assert_eq!(recorder.progress().connected, 2);
        drop(both);
        assert_eq!((recorder.progress().connected, recorder.connected_max()), (0, 2));
    }
}
