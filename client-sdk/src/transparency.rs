//! Keeps the log of how a client used its user's data. It is for the user and stays on the device.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_work::{Log, LogEntry, Note};

use crate::{
    Host, StorageError,
    storage::{read_if_present, write_private},
};

/// The log of one client, in its state directory: JSON, one entry per line, the newest 2,000. Copies share their state.
#[derive(Clone, Debug)]
pub struct TransparencyLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    host: Host,
    log: Mutex<Log>,
}

impl TransparencyLog {
    pub(crate) fn open(path: PathBuf, host: Host) -> Result<Self, StorageError> {
        let log = Mutex::new(Log::load(&read(&path)?));
        Ok(Self(Arc::new(Shared { path, host, log })))
    }

    /// Records that the user consented, and the text that the user consented to.
    pub fn consent_given(&self, words: &str) {
        self.write(Note::consent_given(words));
    }

    /// Records that the user withdrew consent.
    pub fn consent_withdrawn(&self) {
        self.write(Note::consent_withdrawn());
    }

    /// Returns the entries, the oldest first. Successive check-ins are merged into one entry with the sum of their
    /// bytes.
    ///
    /// # Errors
    /// [`StorageError`] if the file cannot be read.
    pub fn entries(&self) -> Result<Vec<LogEntry>, StorageError> {
        let log = self.log();
        Ok(log.entries(&read(&self.0.path)?))
    }

    /// Writes an entry. If that fails, the client logs a warning and continues.
    pub(crate) fn write(&self, note: Note) {
        let mut log = self.log();
        for line in log.record(note, self.0.host.now()) {
            append(&mut log, &self.0.path, &line);
        }
    }

    /// Stops writing, because the client's files are being deleted.
    pub(crate) fn close(&self) {
        self.log().close();
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the entry that is still in memory to the file.
impl Drop for Shared {
    fn drop(&mut self) {
        let log = self.log.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = log.end() {
            append(log, &self.path, &line);
        }
    }
}

fn append(log: &mut Log, path: &Path, line: &[u8]) {
    if let Err(error) = try_append(log, path, line) {
        tracing::warn!(%error, "could not write the transparency log");
    }
}

fn try_append(log: &mut Log, path: &Path, line: &[u8]) -> Result<(), StorageError> {
    if log.is_full() || !path.exists() {
        write_private(path, &log.shorten(&read(path)?))?;
    }
    let appended = OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(line));
    appended.map_err(|error| StorageError::at(path, error))?;
    log.appended();
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, StorageError> {
    Ok(read_if_present(path)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;
    use folkmoot_work::LogAction;

    use super::*;

    fn log(directory: &Path) -> TransparencyLog {
        let host = Host::new(|| Timestamp(5), [1; 32]);
        TransparencyLog::open(directory.join("transparency.jsonl"), host).unwrap()
    }

    fn sent(log: &TransparencyLog, action: LogAction, bytes_sent: u64) {
        log.write(Note { bytes_sent, ..Note::new(action) });
    }

    #[test]
    fn entries_outlive_a_restart_and_a_torn_line() {
        let directory = tempfile::tempdir().unwrap();
        let first = log(directory.path());
        first.consent_given("version 2 of the words");
        sent(&first, LogAction::Asked, 10);
        sent(&first, LogAction::Asked, 11);
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
        sent(&second, LogAction::Sent, 3);
        assert_eq!(second.entries().unwrap().last().unwrap().bytes_sent, 3);
    }

    #[test]
    fn the_file_is_shortened_to_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path());
        for bytes in 0..4005 {
            sent(&log, LogAction::Sent, bytes);
        }
        let entries = log.entries().unwrap();
        assert_eq!((entries.len(), entries[0].bytes_sent), (2000, 2005));
        let file = std::fs::read(directory.path().join("transparency.jsonl")).unwrap();
        assert!(file.iter().filter(|byte| **byte == b'\n').count() < 4000);
    }

    #[test]
    fn a_closed_log_writes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path());
        sent(&log, LogAction::Sent, 1);
        let path = directory.path().join("transparency.jsonl");
        std::fs::remove_file(&path).unwrap();
        log.close();
        sent(&log, LogAction::Sent, 1);
        assert!(!path.exists());
    }
}
