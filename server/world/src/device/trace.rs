use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use folkmoot_protocol::Timestamp;
use serde::Deserialize;

use super::availability::Presence;

/// The maximum number of rows of a trace.
pub const TRACE_ROWS_MAX: usize = 10_000_000;
/// The maximum number of bytes of a trace file.
pub const TRACE_BYTES_MAX: u64 = 1 << 30;
/// The maximum length of a trace in seconds: a hundred years.
const TRACE_SECONDS_MAX: f64 = 3.2e9;

/// A recording of real devices: when they were available, and how fast they were.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    devices: Vec<Arc<TracedDevice>>,
}

/// A trace that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A row is invalid.
    #[error("{file}, line {line}: {message}")]
    Row {
        /// The name of the file, as it was given.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The fault, and the values that are allowed.
        message: String,
    },
    /// The file has no rows.
    #[error("{file} has no rows below its header; add one for each time that a device is available")]
    Empty {
        /// The name of the file, as it was given.
        file: String,
    },
    /// The file is too large.
    #[error(
        "{file} is larger than {TRACE_ROWS_MAX} rows or {TRACE_BYTES_MAX} bytes; use fewer devices or days"
    )]
    TooLarge {
        /// The name of the file, as it was given.
        file: String,
    },
    /// The file cannot be read.
    #[error("{file} cannot be read: {source}")]
    Read {
        /// The name of the file, as it was given.
        file: String,
        /// The error of the CSV reader.
        source: csv::Error,
    },
}

/// One row of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    client: u32,
    from_seconds: f64,
    to_seconds: f64,
    seconds_per_example: f64,
    download_mbps: f64,
    upload_mbps: f64,
    #[serde(default)]
    latency_milliseconds: f64,
}

/// A period in which a device is available, in milliseconds from the beginning of the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Session {
    from: i64,
    to: i64,
    pub(super) seconds_per_example: f64,
    pub(super) download_mbps: f64,
    pub(super) upload_mbps: f64,
    pub(super) latency_milliseconds: f64,
}

/// One device's sessions: at least one, in order, without overlaps.
#[derive(Debug, PartialEq)]
pub(super) struct TracedDevice {
    sessions: Vec<Session>,
    period: i64,
}

impl Trace {
    /// Reads a trace from CSV with a header. A row is a period in which a device is available:
    /// `client,from_seconds,to_seconds,seconds_per_example,download_mbps,upload_mbps` and, optionally,
    /// `latency_milliseconds`. Rows may be in any order. The trace ends at the latest `to_seconds`.
    ///
    /// # Errors
    /// [`TraceError`] if a row is invalid, two rows of a device overlap, the file has no rows or is too large, or it
    /// cannot be read.
    pub fn read(file: &str, reader: impl Read) -> Result<Self, TraceError> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader.take(TRACE_BYTES_MAX));
        let mut devices: BTreeMap<u32, Vec<(Session, u64)>> = BTreeMap::new();
        let headers = reader.headers().map_err(|source| read_error(file, source))?.clone();
        let mut record = csv::StringRecord::new();
        let mut rows = 0;
        while reader.read_record(&mut record).map_err(|source| read_error(file, source))? {
            let line = record.position().map_or(0, csv::Position::line);
            rows += 1;
            if rows > TRACE_ROWS_MAX || reader.position().byte() >= TRACE_BYTES_MAX {
                return Err(TraceError::TooLarge { file: file.to_owned() });
            }
            let row: Row = record.deserialize(Some(&headers)).map_err(|source| read_error(file, source))?;
            let session = row.session().map_err(|message| row_error(file, line, message))?;
            devices.entry(row.client).or_default().push((session, line));
        }
        let ends = devices.values().flatten().map(|(session, _)| session.to);
        let Some(period) = ends.max() else { return Err(TraceError::Empty { file: file.to_owned() }) };
        let devices = devices.into_values().map(|sessions| in_order(file, sessions, period));
        Ok(Trace { devices: devices.collect::<Result<_, _>>()? })
    }

    /// Returns the number of devices.
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// Returns the device of a client. If there are more clients than devices, the devices repeat.
    pub(super) fn device(&self, client: usize) -> Arc<TracedDevice> {
        self.devices[client % self.devices.len()].clone()
    }
}

/// Sorts the sessions of one device and rejects overlaps.
fn in_order(
    file: &str,
    mut sessions: Vec<(Session, u64)>,
    period: i64,
) -> Result<Arc<TracedDevice>, TraceError> {
    sessions.sort_by_key(|(session, line)| (session.from, *line));
    for pair in sessions.windows(2) {
        if pair[1].0.from < pair[0].0.to {
            let message = format!(
                "the time overlaps with that of the same client in line {}; end the earlier time sooner",
                pair[0].1
            );
            return Err(row_error(file, pair[1].1, message));
        }
    }
    let sessions = sessions.into_iter().map(|(session, _)| session).collect();
    Ok(Arc::new(TracedDevice { sessions, period }))
}

fn row_error(file: &str, line: u64, message: String) -> TraceError {
    TraceError::Row { file: file.to_owned(), line, message }
}

fn read_error(file: &str, source: csv::Error) -> TraceError {
    match source.position().map(csv::Position::line) {
        Some(line) => {
            let message = match source.kind() {
                csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
                _ => source.to_string(),
            };
            row_error(file, line, message)
        }
        None => TraceError::Read { file: file.to_owned(), source },
    }
}

impl Row {
    fn session(&self) -> Result<Session, String> {
        let times = 0.0..=TRACE_SECONDS_MAX;
        if !(times.contains(&self.from_seconds) && times.contains(&self.to_seconds)) {
            return Err(format!("from_seconds and to_seconds must be from 0 to {TRACE_SECONDS_MAX:.0}"));
        }
        let milliseconds = |seconds: f64| (seconds * 1e3).round() as i64;
        let (from, to) = (milliseconds(self.from_seconds), milliseconds(self.to_seconds));
        if from >= to {
            return Err("to_seconds must be above from_seconds, by a millisecond or more".into());
        }
        for (name, value) in [
            ("seconds_per_example", self.seconds_per_example),
            ("download_mbps", self.download_mbps),
            ("upload_mbps", self.upload_mbps),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("{name} is {value}; it must be a number above 0"));
            }
        }
        if !(self.latency_milliseconds.is_finite() && self.latency_milliseconds >= 0.0) {
            return Err("latency_milliseconds must be a number of 0 or more".into());
        }
        Ok(Session {
            from,
            to,
            seconds_per_example: self.seconds_per_example,
            download_mbps: self.download_mbps,
            upload_mbps: self.upload_mbps,
            latency_milliseconds: self.latency_milliseconds,
        })
    }
}

impl TracedDevice {
    /// Returns the session at `at`. Without one, returns the last session before `at`, or else the first session.
    pub(super) fn session(&self, at: Timestamp) -> &Session {
        let moment = i64::try_from(at.0).unwrap_or(i64::MAX).rem_euclid(self.period);
        let begun = self.sessions.partition_point(|session| session.from <= moment);
        &self.sessions[begun.saturating_sub(1)]
    }

    pub(super) fn presence(&self, at: i64) -> Presence {
        let moment = at.rem_euclid(self.period);
        let begun = self.sessions.partition_point(|session| session.from <= moment);
        let current = begun.checked_sub(1).map(|last| &self.sessions[last]).filter(|last| moment < last.to);
        let next = self.sessions.get(begun).map_or(self.period, |session| session.from);
        let until = current.map_or(next, |session| session.to);
        let is_always =
            self.sessions.len() == 1 && current.is_some_and(|one| one.to - one.from == self.period);
        let until = if is_always { i64::MAX } else { at.saturating_add(until - moment) };
        Presence { is_there: current.is_some(), until }
    }
}
