//! The audit log of an organisation: who did what, in an append-only chain of entries.
//!
//! An entry is a text and its SHA-256. The text contains the digest of the entry before it, so nobody can change, remove
//! or insert an entry without changing every later one.

use folkmoot_protocol::{BlobDigest, OrganisationId, Timestamp};
use serde::{Deserialize, Serialize};

/// The contents of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The organisation in which the act happened.
    pub organisation_id: OrganisationId,
    /// The number of the entry, from 1.
    pub number: u64,
    /// The digest of the previous entry; `None` for the first entry.
    pub previous: Option<BlobDigest>,
    /// When the act happened.
    pub at: Timestamp,
    /// The author: an API key, for example `key 0123456789abcdef`.
    pub by: String,
    /// The network address of the request; `None` if the act came from the coordinator's own machine.
    pub from: Option<String>,
    /// The act, for example `token.create`.
    pub action: String,
    /// The id of the object, for example of a token or a task.
    pub subject: String,
    /// The properties of the object that the act set.
    pub changes: Vec<Change>,
}

/// A property before and after an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The name of the property.
    pub what: String,
    /// The value before; `None` if there was none.
    pub before: Option<String>,
    /// The value after; `None` if there is none.
    pub after: Option<String>,
}

/// An entry as it is stored and exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// [`Record`] as JSON. The digest covers exactly these bytes.
    pub record: String,
    /// The SHA-256 of `record`.
    pub digest: BlobDigest,
}

/// The last entry of a log. With a copy kept elsewhere, you can verify later that no entry up to it was changed or
/// removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The number of entries.
    pub entries: u64,
    /// The digest of the last entry; `None` for an empty log.
    pub digest: Option<BlobDigest>,
}

impl Record {
    /// The action of an entry about older entries that retention removed.
    pub const PRUNE: &str = "audit.prune";

    /// Returns the changes of an entry about removed entries. `last` is the last removed entry.
    pub fn pruned(last: Head) -> Vec<Change> {
        let change = |what: &str, after| Change { what: what.to_owned(), before: None, after };
        let digest = last.digest.map(|digest| digest.to_string());
        vec![change("removed_up_to", Some(last.entries.to_string())), change("digest", digest)]
    }

    /// Returns the last entry that retention removed, if this entry says so.
    pub fn removed(&self) -> Option<Head> {
        let value = |what| self.changes.iter().find(|change| change.what == what)?.after.as_deref();
        let is_prune = self.action == Self::PRUNE;
        let (entries, digest) = (value("removed_up_to")?.parse().ok()?, value("digest")?.parse().ok()?);
        is_prune.then_some(Head { entries, digest: Some(digest) })
    }
}

/// A log whose entries do not form a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// An entry is missing or out of place.
    #[error("entry {expected} is missing: found entry {found} in its place")]
    Number {
        /// The expected number.
        expected: u64,
        /// The number that was found.
        found: u64,
    },
    /// An entry belongs to another organisation's log.
    #[error("entry {0} belongs to another organisation")]
    Organisation(u64),
    /// An entry does not contain the digest of the one before it.
    #[error("entry {0} does not follow the one before it: one of them was changed")]
    Previous(u64),
    /// An entry's digest does not match its text.
    #[error("entry {0} was changed: its digest does not match its text")]
    Digest(u64),
    /// The first entries are missing, and no entry says that retention removed them.
    #[error("entries 1 to {} are missing, and no later entry says that retention removed them", .0.entries)]
    Removed(Head),
    /// The known head is not in the log.
    #[error("the log does not contain the known head of {} entries: entries were removed or rewritten", .0.entries)]
    Head(Head),
}

/// Verifies the entries of a log one after the other, in constant memory.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    organisation_id: Option<OrganisationId>,
    head: Head,
}

impl Chain {
    /// Returns a chain whose entries up to `removed` were removed. The next entry must follow `removed`.
    pub fn after(removed: Head) -> Self {
        Self { organisation_id: None, head: removed }
    }

    /// Verifies the next entry, whose text was parsed as `record`.
    ///
    /// # Errors
    /// [`ChainError`] for the first check that the entry fails.
    pub fn follow(&mut self, entry: &Entry, record: &Record) -> Result<(), ChainError> {
        let (number, expected) = (record.number, self.head.entries + 1);
        if number != expected {
            return Err(ChainError::Number { expected, found: number });
        }
        if *self.organisation_id.get_or_insert(record.organisation_id) != record.organisation_id {
            return Err(ChainError::Organisation(number));
        }
        if entry.digest != BlobDigest::of(entry.record.as_bytes()) {
            return Err(ChainError::Digest(number));
        }
        if record.previous != self.head.digest {
            return Err(ChainError::Previous(number));
        }
        self.head = Head { entries: number, digest: Some(entry.digest) };
        Ok(())
    }

    /// Returns the head of the entries verified so far.
    pub fn head(&self) -> Head {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(count: u64) -> Vec<(Entry, Record)> {
        let mut previous = None;
        let entries = (1..=count).map(|number| {
            let record = Record {
                organisation_id: OrganisationId::from_random_bytes([7; 16]),
                number,
                previous,
                at: Timestamp(number),
                by: "key 1".into(),
                from: None,
                action: "token.revoke".into(),
                subject: number.to_string(),
                changes: Vec::new(),
            };
            let text = serde_json::to_string(&record).unwrap();
            let digest = BlobDigest::of(text.as_bytes());
            previous = Some(digest);
            (Entry { record: text, digest }, record)
        });
        entries.collect()
    }

    fn verified(log: &[(Entry, Record)]) -> Result<Head, ChainError> {
        let mut chain = Chain::default();
        log.iter().try_for_each(|(entry, record)| chain.follow(entry, record))?;
        Ok(chain.head())
    }

    /// Changes a record, and computes its digest again.
    fn rewritten(log: &mut [(Entry, Record)], index: usize, change: impl FnOnce(&mut Record)) {
        let (entry, record) = &mut log[index];
        change(record);
        entry.record = serde_json::to_string(record).unwrap();
        entry.digest = BlobDigest::of(entry.record.as_bytes());
    }

    #[test]
    fn an_untouched_log_is_a_chain() {
        let log = log(5);
        assert_eq!(verified(&log), Ok(Head { entries: 5, digest: Some(log[4].0.digest) }));
        assert_eq!(verified(&[]), Ok(Head::default()));
    }

    #[test]
    fn a_log_continues_after_what_retention_removed() {
        let mut log = log(5);
        let removed = Head { entries: 3, digest: Some(log[2].0.digest) };
        let mut chain = Chain::after(removed);
        log[3..].iter().try_for_each(|(entry, record)| chain.follow(entry, record)).unwrap();
        assert_eq!(chain.head().entries, 5);
        let wrong = Head { digest: Some(log[1].0.digest), ..removed };
        assert_eq!(Chain::after(wrong).follow(&log[3].0, &log[3].1), Err(ChainError::Previous(4)));

        assert_eq!(log[4].1.removed(), None);
        rewritten(&mut log, 4, |record| record.changes = Record::pruned(removed));
        assert_eq!(log[4].1.removed(), None, "it is another act");
        rewritten(&mut log, 4, |record| record.action = Record::PRUNE.into());
        assert_eq!(log[4].1.removed(), Some(removed));
    }

    #[test]
    fn every_change_breaks_the_chain() {
        let mut log = log(5);
        let untouched = log.clone();
        log.remove(2);
        assert_eq!(verified(&log), Err(ChainError::Number { expected: 3, found: 4 }));
        log.clone_from(&untouched);
        log.swap(1, 2);
        assert_eq!(verified(&log), Err(ChainError::Number { expected: 2, found: 3 }));
        log.clone_from(&untouched);
        log[1].0.record.push(' ');
        assert_eq!(verified(&log), Err(ChainError::Digest(2)));
        log.clone_from(&untouched);
        rewritten(&mut log, 1, |record| record.by = "key 2".into());
        assert_eq!(
            verified(&log),
            Err(ChainError::Previous(3)),
            "its own digest is right, but not in the next"
        );
        log.clone_from(&untouched);
        rewritten(&mut log, 0, |record| record.previous = Some(BlobDigest::of(b"")));
        assert_eq!(verified(&log), Err(ChainError::Previous(1)));
        log.clone_from(&untouched);
        rewritten(&mut log, 4, |record| record.organisation_id = OrganisationId::from_random_bytes([8; 16]));
        assert_eq!(verified(&log), Err(ChainError::Organisation(5)));
    }
}
