//! Reads an audit log and verifies its chain.

use std::path::Path;

use folkmoot_api::{AdminClient, audit::AuditEntryView};
use folkmoot_coordinator::audit_log::{Chain, ChainError, Entry, Head, Record};

use crate::{CliError, json_lines};

/// The number of entries in a page, which is the coordinator's maximum.
const PAGE_ENTRIES: u32 = 100;
/// The maximum size of a line of an export, in bytes.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Returns the entry and its parsed contents.
pub fn parse(view: AuditEntryView) -> Result<(Entry, Record), CliError> {
    let wrong = |error: &dyn std::fmt::Display| CliError::new(format!("not an audit entry: {error}"));
    let record: Record = serde_json::from_str(&view.record).map_err(|error| wrong(&error))?;
    let digest = view.digest.parse().map_err(|error| wrong(&error))?;
    Ok((Entry { record: view.record, digest }, record))
}

/// Calls `visit` with every entry of the coordinator's log, oldest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request, or if `visit` fails.
pub async fn download(
    admin: &AdminClient,
    mut visit: impl FnMut(AuditEntryView) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut after = 0;
    loop {
        let page = admin.audit(Some(after), PAGE_ENTRIES).await?;
        let Some(last) = page.entries.last() else { return Ok(()) };
        // Retention may have removed the first entries, so the count of entries is not the number of the last one.
        after = parse(last.clone())?.1.number;
        page.entries.into_iter().try_for_each(&mut visit)?;
    }
}

/// Calls `visit` with every entry of an exported log, in file order.
///
/// # Errors
/// If the file cannot be read, a line is not an entry, or `visit` fails. The last two errors name the line.
pub fn read(
    path: &Path,
    mut visit: impl FnMut(AuditEntryView) -> Result<(), CliError>,
) -> Result<(), CliError> {
    json_lines::read(path, LINE_BYTES_MAX, |line| {
        let view = serde_json::from_slice(line).map_err(|error| {
            CliError::with_remedy(
                format!("not an audit entry: {error}"),
                "give a complete file that `folkmoot audit export` wrote",
            )
        });
        view.and_then(&mut visit)
    })
}

/// Verifies a chain of entries, and looks for a known head in it.
#[derive(Default)]
pub struct Follower {
    /// The chain; `None` before the first entry.
    chain: Option<Chain>,
    known: Option<Head>,
    /// The head before the log's first entry, unless this entry has the number 1.
    removed: Option<Head>,
    /// True if an entry says that the entries before the first one were removed.
    is_removal_recorded: bool,
}

/// A log that was verified to its end.
#[derive(Clone, Copy, Debug)]
pub struct Followed {
    /// The head of the log.
    pub head: Head,
    /// The last entry that retention removed; `None` if the log is whole.
    pub removed: Option<Head>,
}

impl Follower {
    /// Creates a follower of a whole log that must contain `known`.
    pub fn new(known: Option<Head>) -> Self {
        Self { known, ..Self::default() }
    }

    /// Verifies the next entry.
    ///
    /// # Errors
    /// If `view` is not a valid entry, or does not continue the chain.
    pub fn follow(&mut self, view: AuditEntryView) -> Result<(), CliError> {
        let (entry, record) = parse(view)?;
        let chain = match &mut self.chain {
            Some(chain) => chain,
            None => {
                let before = Head { entries: record.number.saturating_sub(1), digest: record.previous };
                self.removed = (before.entries > 0).then_some(before);
                self.check_known(before)?;
                self.chain.insert(self.removed.map(Chain::after).unwrap_or_default())
            }
        };
        chain.follow(&entry, &record).map_err(|error| broken(&error))?;
        let head = chain.head();
        self.is_removal_recorded |= record.removed().is_some_and(|said| Some(said) == self.removed);
        self.check_known(head)
    }

    /// Compares the known head with the entry of its number.
    fn check_known(&self, head: Head) -> Result<(), CliError> {
        match self.known {
            Some(known) if known.entries == head.entries && known != head => {
                Err(broken(&ChainError::Head(known)))
            }
            _ => Ok(()),
        }
    }

    /// Ends the log.
    ///
    /// # Errors
    /// If the known head is beyond the end of the log or was removed, or if entries are missing at the beginning and
    /// retention did not remove them.
    pub fn end(self) -> Result<Followed, CliError> {
        let head = self.chain.unwrap_or_default().head();
        let removed = self.removed;
        match (self.known, removed) {
            (_, Some(removed)) if !self.is_removal_recorded => Err(broken(&ChainError::Removed(removed))),
            (Some(known), _) if known.entries > head.entries => Err(broken(&ChainError::Head(known))),
            (Some(known), Some(removed)) if known.entries <= removed.entries => Err(CliError::with_remedy(
                format!(
                    "the known head of {} entries cannot be verified: the log says that retention removed entries 1 to \
                     {}, but somebody with access to the database could have written that",
                    known.entries, removed.entries
                ),
                "verify an export that contains it with --file, and save the current head",
            )),
            _ => Ok(Followed { head, removed }),
        }
    }
}

/// Creates the error for a broken log.
fn broken(error: &ChainError) -> CliError {
    CliError::with_remedy(
        error.to_string(),
        "somebody changed the database; compare it with an earlier export or backup",
    )
}

/// Formats a head as ENTRIES:DIGEST.
pub fn shown(head: Head) -> String {
    match head.digest {
        Some(digest) => format!("{}:{digest}", head.entries),
        None => "0".into(),
    }
}

/// Parses a head that was printed as ENTRIES:DIGEST.
pub fn head(text: &str) -> Result<Head, String> {
    let parsed = text.trim().split_once(':').and_then(|(entries, digest)| {
        Some(Head { entries: entries.parse().ok()?, digest: Some(digest.parse().ok()?) })
    });
    parsed.ok_or_else(|| {
        "expected ENTRIES:DIGEST as `folkmoot audit verify` prints it: a number, a colon and 64 hexadecimal digits".into()
    })
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{BlobDigest, OrganisationId, Timestamp};

    use super::*;

    fn log(count: u64) -> Vec<AuditEntryView> {
        let mut previous = None;
        let entries = (1..=count).map(|number| {
            let record = Record {
                organisation_id: OrganisationId::from_random_bytes([7; 16]),
                number,
                previous,
                at: Timestamp(number),
                by: "key 0123456789abcdef".into(),
                from: None,
                action: "token.revoke".into(),
                subject: "fedcba9876543210".into(),
                changes: Vec::new(),
            };
            let record = serde_json::to_string(&record).expect("it is data");
            let digest = BlobDigest::of(record.as_bytes());
            previous = Some(digest);
            AuditEntryView { record, digest: digest.to_string() }
        });
        entries.collect()
    }

    fn verified(log: &[AuditEntryView], known: Option<Head>) -> Result<Head, CliError> {
        let file = tempfile::NamedTempFile::new().expect("a folder for files that pass");
        let lines = log.iter().map(|view| serde_json::to_string(view).expect("it is data") + "\n");
        std::fs::write(file.path(), lines.collect::<String>()).expect("it can be written");
        let mut follower = Follower::new(known);
        read(file.path(), |view| follower.follow(view))?;
        follower.end().map(|followed| followed.head)
    }

    #[test]
    fn an_export_is_verified_and_a_changed_line_is_found() {
        let mut log = log(4);
        let head = verified(&log, None).unwrap();
        assert_eq!(shown(head), format!("4:{}", log[3].digest));
        log[1].record = log[1].record.replace("token.revoke", "token.create");
        let error = verified(&log, None).unwrap_err();
        assert!(error.message.contains("line 2: entry 2 was changed"), "{}", error.message);
    }

    /// Returns the entries after number 2 of a log whose last entry says that `removed` is the last removed one.
    fn pruned(removed: impl FnOnce(&[AuditEntryView]) -> Head) -> Vec<AuditEntryView> {
        let mut log = log(4);
        let mut last: Record = serde_json::from_str(&log[3].record).expect("it is a record");
        (last.action, last.changes) = (Record::PRUNE.into(), Record::pruned(removed(&log)));
        let record = serde_json::to_string(&last).expect("it is data");
        log[3] = AuditEntryView { digest: BlobDigest::of(record.as_bytes()).to_string(), record };
        log.split_off(2)
    }

    #[test]
    fn entries_are_missing_only_if_the_log_says_so() {
        let second = |log: &[AuditEntryView]| Head { entries: 2, digest: log[1].digest.parse().ok() };
        let rest = pruned(second);
        let head = verified(&rest, None).unwrap();
        assert_eq!(head.entries, 4);
        assert!(verified(&rest, Some(head)).is_ok());
        let first = Head { entries: 1, digest: Some(BlobDigest::of(b"")) };
        for known in [second(&log(2)), first] {
            let error = verified(&rest, Some(known)).unwrap_err();
            assert!(error.message.contains("removed entries 1 to 2"), "{}", error.message);
        }

        for broken in [
            &rest[..1],
            &pruned(|log| Head { entries: 1, digest: log[0].digest.parse().ok() }),
            &pruned(|log| Head { entries: 2, digest: log[0].digest.parse().ok() }),
        ] {
            let error = verified(broken, None).unwrap_err();
            assert!(error.message.contains("entries 1 to 2 are missing"), "{}", error.message);
        }
    }

    #[test]
    fn a_known_head_shows_a_log_that_was_cut_or_rewritten() {
        let log = log(4);
        let known = head(&format!("3:{}", log[2].digest)).unwrap();
        assert_eq!(verified(&log, Some(known)).unwrap().entries, 4);
        assert!(verified(&log[..2], Some(known)).is_err(), "entries are missing at the end");
        let other = Head { digest: Some(BlobDigest::of(b"")), ..known };
        assert!(verified(&log, Some(other)).is_err(), "another entry is in its place");
        assert!(head("3").is_err() && head("3:abc").is_err());
    }
}
