use std::collections::VecDeque;

use folkmoot_protocol::Timestamp;

use super::{LogAction, LogEntry, Note};

/// The maximum number of entries in the log. The oldest are dropped first.
const ENTRIES_MAX: usize = 2000;

/// The log of one client: JSON, one entry per line, the newest 2,000. The host keeps the lines in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The number of lines in the file.
    lines: usize,
    /// Check-ins since the last entry of another kind. They are merged into one entry, so that they do not fill the
    /// log.
    asked: Option<LogEntry>,
    is_closed: bool,
}

impl Log {
    /// Continues a file.
    pub fn load(stored: &[u8]) -> Self {
        Self { lines: stored.iter().filter(|byte| **byte == b'\n').count(), ..Self::default() }
    }

    /// Takes a note, and returns the lines to append to the file now. The host calls [`Log::appended`] for each of them.
    #[must_use]
    pub fn record(&mut self, note: Note, now: Timestamp) -> Vec<Vec<u8>> {
        let entry = note.at(now);
        if entry.action == LogAction::Asked && entry.task_id.is_none() {
            let asked = self.asked.get_or_insert(LogEntry { bytes_sent: 0, ..entry.clone() });
            asked.bytes_sent += entry.bytes_sent;
            return Vec::new();
        }
        let asked = self.asked.take();
        if self.is_closed { Vec::new() } else { asked.iter().chain([&entry]).map(line).collect() }
    }

    /// Returns whether the file must be shortened before the next line is appended. It may hold twice the limit, so that
    /// not every entry rewrites it.
    pub fn is_full(&self) -> bool {
        self.lines >= 2 * ENTRIES_MAX
    }

    /// Returns the new content of the file: the newest of its entries.
    #[must_use]
    pub fn shorten(&mut self, stored: &[u8]) -> Vec<u8> {
        let entries = read(stored);
        let newest = &entries[entries.len().saturating_sub(ENTRIES_MAX)..];
        self.lines = newest.len();
        newest.iter().flat_map(line).collect()
    }

    /// Notes that the file has one more line.
    pub fn appended(&mut self) {
        self.lines += 1;
    }

    /// Returns the entries, the oldest first. Successive check-ins are merged into one entry with the sum of their
    /// bytes.
    pub fn entries(&self, stored: &[u8]) -> Vec<LogEntry> {
        let mut entries = VecDeque::from(read(stored));
        entries.extend(self.asked.clone());
        entries.drain(..entries.len().saturating_sub(ENTRIES_MAX));
        entries.into()
    }

    /// Returns the line that is only in memory, if there is one. The host appends it before it ends.
    #[must_use]
    pub fn end(&mut self) -> Option<Vec<u8>> {
        self.asked.take().filter(|_| !self.is_closed).as_ref().map(line)
    }

    /// Stops writing, because the client's files are being deleted.
    pub fn close(&mut self) {
        *self = Self { is_closed: true, ..Self::default() };
    }
}

/// Reads the entries. Skips a line that was only partly written because of a crash.
fn read(stored: &[u8]) -> Vec<LogEntry> {
    stored.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn line(entry: &LogEntry) -> Vec<u8> {
    let mut line = serde_json::to_vec(entry).expect("an entry has string keys only");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(5);

    /// Appends to the file as a host does.
    fn write(log: &mut Log, file: &mut Vec<u8>, note: Note) {
        for line in log.record(note, NOW) {
            if log.is_full() {
                *file = log.shorten(file);
            }
            file.extend(line);
            log.appended();
        }
    }

    fn sent(action: LogAction, bytes_sent: u64) -> Note {
        Note { bytes_sent, ..Note::new(action) }
    }

    #[test]
    fn check_ins_are_one_entry_and_a_torn_line_is_skipped() {
        let (mut log, mut file) = (Log::default(), Vec::new());
        write(&mut log, &mut file, Note::consent_given("version 2 of the words"));
        write(&mut log, &mut file, sent(LogAction::Asked, 10));
        write(&mut log, &mut file, sent(LogAction::Asked, 11));
        let actions = |log: &Log, file: &[u8]| -> Vec<_> {
            log.entries(file).iter().map(|entry| (entry.action, entry.bytes_sent)).collect()
        };
        let expected = [(LogAction::Consent, 0), (LogAction::Asked, 21)];
        assert_eq!(actions(&log, &file), expected);
        file.extend(log.end().expect("the check-ins are only in memory"));
        file.extend(b"{\"at\":7,\"act");
        let mut log = Log::load(&file);
        assert_eq!(actions(&log, &file), expected);
        assert_eq!((log.lines, log.end()), (2, None));
    }

    #[test]
    fn the_oldest_go_first_and_a_closed_log_writes_nothing() {
        let (mut log, mut file) = (Log::default(), Vec::new());
        for bytes in 0..2 * ENTRIES_MAX as u64 + 5 {
            write(&mut log, &mut file, sent(LogAction::Sent, bytes));
        }
        let entries = log.entries(&file);
        assert_eq!((entries.len(), entries[0].bytes_sent), (ENTRIES_MAX, ENTRIES_MAX as u64 + 5));
        assert!(log.lines < 2 * ENTRIES_MAX && file.len() < ENTRIES_MAX * 100);
        log.close();
        assert!(log.record(sent(LogAction::Sent, 1), NOW).is_empty());
        assert!(log.record(sent(LogAction::Asked, 1), NOW).is_empty() && log.end().is_none());
    }
}
