//! A log of how a client used its user's data. It is for the user and stays on the device.

use std::{
    collections::VecDeque,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_protocol::{TaskId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Host, StorageError,
    storage::{read_if_present, write_private},
};

/// The maximum number of entries in the log. The oldest are dropped first.
const ENTRIES_MAX: usize = 2000;
/// The maximum number of bytes in a detail text. Longer texts are truncated.
const DETAIL_BYTES_MAX: usize = 512;

/// The logged action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogAction {
    /// The client's key was enrolled.
    Enrolled,
    /// The client asked for an assignment, or for the state of an update.
    Asked,
    /// A plan, a model or weights were received.
    Fetched,
    /// A model was trained on the examples.
    Trained,
    /// A model was evaluated on the examples.
    Evaluated,
    /// An update was sent. The entry is written before sending, with the full size.
    Sent,
    /// The duration and size of an accepted update were reported.
    Reported,
    /// An assignment exceeded one of the app's limits, which the entry names. The coordinator does not learn it.
    Declined,
    /// An assignment was given up.
    GaveUp,
    /// The client notified the coordinator that it gave up an assignment.
    ToldGaveUp,
    /// The user gave or withdrew consent.
    Consent,
}

/// An entry of the transparency log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The time of the action.
    pub at: Timestamp,
    /// The logged action.
    pub action: LogAction,
    /// The task, if the action belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The round's number in its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_number: Option<u64>,
    /// The number of bytes sent in the bodies of requests.
    pub bytes_sent: u64,
    /// The number of bytes of blobs received.
    pub bytes_received: u64,
    /// Details for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The log of one client, in its state directory: JSON, one entry per line, the newest 2,000. Copies share their state.
#[derive(Clone, Debug)]
pub struct TransparencyLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    host: Host,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lines: usize,
    /// Check-ins since the last entry of another kind. They are merged into one entry, so that they do not fill the
    /// log.
    asked: Option<LogEntry>,
    is_closed: bool,
}

impl TransparencyLog {
    pub(crate) fn open(path: PathBuf, host: Host) -> Result<Self, StorageError> {
        let lines = read_if_present(&path)?.map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count());
        let state = Mutex::new(State { lines, ..State::default() });
        Ok(Self(Arc::new(Shared { path, host, state })))
    }

    /// Records that the user consented, and the text that the user consented to.
    pub fn consent_given(&self, words: &str) {
        self.write(LogAction::Consent, |entry| entry.detail = Some(format!("given: {words}")));
    }

    /// Records that the user withdrew consent.
    pub fn consent_withdrawn(&self) {
        self.write(LogAction::Consent, |entry| entry.detail = Some("withdrawn".to_owned()));
    }

    /// Returns the entries, the oldest first. Successive check-ins are merged into one entry with the sum of their
    /// bytes.
    ///
    /// # Errors
    /// [`StorageError`] if the file cannot be read.
    pub fn entries(&self) -> Result<Vec<LogEntry>, StorageError> {
        let state = self.state();
        let mut entries = VecDeque::from(read(&self.0.path)?);
        entries.extend(state.asked.clone());
        entries.drain(..entries.len().saturating_sub(ENTRIES_MAX));
        Ok(entries.into())
    }

    /// Writes an entry. If that fails, the client logs a warning and continues.
    pub(crate) fn write(&self, action: LogAction, describe: impl FnOnce(&mut LogEntry)) {
        let mut entry = LogEntry {
            at: self.0.host.now(),
            action,
            task_id: None,
            round_number: None,
            bytes_sent: 0,
            bytes_received: 0,
            detail: None,
        };
        describe(&mut entry);
        entry.detail = entry.detail.map(shortened);
        let mut state = self.state();
        if action == LogAction::Asked && entry.task_id.is_none() {
            let asked = state.asked.get_or_insert(LogEntry { bytes_sent: 0, ..entry.clone() });
            asked.bytes_sent += entry.bytes_sent;
            return;
        }
        let asked = state.asked.take();
        for entry in asked.iter().chain([&entry]) {
            self.append(&mut state, entry);
        }
    }

    /// Stops writing, because the client's files are being deleted.
    pub(crate) fn close(&self) {
        *self.state() = State { is_closed: true, ..State::default() };
    }

    fn append(&self, state: &mut State, entry: &LogEntry) {
        if state.is_closed {
            return;
        }
        let mut line = serde_json::to_vec(entry).expect("an entry has string keys only");
        line.push(b'\n');
        if let Err(error) = self.try_append(state, &line) {
            tracing::warn!(%error, "could not write the transparency log");
        }
    }

    fn try_append(&self, state: &mut State, line: &[u8]) -> Result<(), StorageError> {
        let path = &self.0.path;
        // The file may hold twice the limit before it is rewritten, so that not every entry rewrites it.
        if state.lines >= 2 * ENTRIES_MAX || !path.exists() {
            let entries = read(path)?;
            let newest = &entries[entries.len().saturating_sub(ENTRIES_MAX)..];
            let mut bytes = Vec::new();
            for entry in newest {
                serde_json::to_writer(&mut bytes, entry).expect("an entry has string keys only");
                bytes.push(b'\n');
            }
            state.lines = newest.len();
            write_private(path, &bytes)?;
        }
        let appended = OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(line));
        appended.map_err(|error| StorageError::at(path, error))?;
        state.lines += 1;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the entry that is still in memory to the file.
impl Drop for Shared {
    fn drop(&mut self) {
        let state = std::mem::take(self.state.get_mut().unwrap_or_else(PoisonError::into_inner));
        if let State { asked: Some(asked), is_closed: false, lines } = state {
            let shared = Self { path: self.path.clone(), host: self.host.clone(), state: Mutex::default() };
            TransparencyLog(Arc::new(shared)).append(&mut State { lines, ..State::default() }, &asked);
        }
    }
}

/// Reads the entries. Skips a line that was only partly written because of a crash.
fn read(path: &Path) -> Result<Vec<LogEntry>, StorageError> {
    let bytes = read_if_present(path)?.unwrap_or_default();
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

fn shortened(mut detail: String) -> String {
    detail.truncate(detail.floor_char_boundary(DETAIL_BYTES_MAX));
    detail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(directory: &Path) -> TransparencyLog {
        let host = Host::new(|| Timestamp(5), [1; 32]);
        TransparencyLog::open(directory.join("transparency.jsonl"), host).unwrap()
    }

    fn sent(log: &TransparencyLog, bytes: u64) {
        log.write(LogAction::Sent, |entry| entry.bytes_sent = bytes);
    }

    #[test]
    fn entries_outlive_a_restart_and_a_torn_line() {
        let directory = tempfile::tempdir().unwrap();
        let first = log(directory.path());
        first.consent_given("version 2 of the words");
        first.write(LogAction::Asked, |entry| entry.bytes_sent = 10);
        first.write(LogAction::Asked, |entry| entry.bytes_sent = 11);
        let actions = |log: &TransparencyLog| -> Vec<_> {
            log.entries().unwrap().iter().map(|entry| (entry.action, entry.bytes_sent)).collect()
        };
        let expected = [(LogAction::Consent, 0), (LogAction::Asked, 21)];
        assert_eq!(actions(&first), expected);
        drop(first);
        let path = directory.path().join("transparency.jsonl");
        OpenOptions::new().append(true).open(path).unwrap().write_all(b"{\"at\":7,\"act").unwrap();
        let second = log(directory.path());
        assert_eq!(actions(&second), expected);
        second.consent_withdrawn();
        sent(&second, 3);
        assert_eq!(second.entries().unwrap().last().unwrap().bytes_sent, 3);
    }

    #[test]
    fn the_oldest_go_first_and_a_closed_log_writes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path());
        for bytes in 0..2 * ENTRIES_MAX as u64 + 5 {
            sent(&log, bytes);
        }
        let entries = log.entries().unwrap();
        assert_eq!((entries.len(), entries[0].bytes_sent), (ENTRIES_MAX, ENTRIES_MAX as u64 + 5));
        let path = directory.path().join("transparency.jsonl");
        assert!(std::fs::read(&path).unwrap().len() < ENTRIES_MAX * 100);
        std::fs::remove_file(&path).unwrap();
        log.close();
        sent(&log, 1);
        assert!(!path.exists());
    }

    #[test]
    fn long_words_are_cut_between_letters() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path());
        log.consent_given(&"é".repeat(400));
        let detail = log.entries().unwrap()[0].detail.clone().unwrap();
        assert!(detail.len() <= DETAIL_BYTES_MAX && detail.ends_with('é'));
    }
}
