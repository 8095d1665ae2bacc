use folkmoot_protocol::PopulationName;
use serde::{Deserialize, Serialize};

use super::{Entry, EntryDigest};

/// The last entry of a ledger. Keep a copy of the head elsewhere: with it you can later verify that no entry up to this
/// one was changed or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The number of entries.
    pub entries: u64,
    /// The digest of the last entry; all zeros for an empty ledger.
    pub digest: EntryDigest,
}

/// A ledger whose entries do not form a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// An entry is missing or out of place.
    #[error("entry {expected} is missing: found entry {found} in its place")]
    Sequence {
        /// The expected sequence number.
        expected: u64,
        /// The sequence number that was found.
        found: u64,
    },
    /// An entry belongs to another population's ledger.
    #[error("entry {sequence} belongs to the population {found}, not to this ledger's")]
    Population {
        /// The entry's sequence number.
        sequence: u64,
        /// The population that the entry names.
        found: PopulationName,
    },
    /// An entry does not contain the digest of the one before it.
    #[error("entry {sequence} does not follow entry {}: one of them was changed", sequence - 1)]
    Previous {
        /// The entry's sequence number.
        sequence: u64,
    },
    /// An entry's digest does not match its contents.
    #[error("entry {sequence} was changed: its digest does not match its contents")]
    Digest {
        /// The entry's sequence number.
        sequence: u64,
    },
    /// The last verified entry is not the known head.
    #[error(
        "the ledger does not contain the known head of {} entries ({}): entries were removed or rewritten",
        .0.entries, .0.digest
    )]
    Head(Head),
}

/// Verifies the entries of a ledger one after the other, in constant memory.
#[derive(Clone, Debug)]
pub struct Chain {
    population: PopulationName,
    head: Head,
}

impl Chain {
    /// Creates a chain that has verified nothing. It expects the first entry of the population's ledger next.
    pub fn new(population: PopulationName) -> Self {
        Self { population, head: Head { entries: 0, digest: EntryDigest::BEGINNING } }
    }

    /// Verifies the next entry.
    ///
    /// # Errors
    /// [`ChainError`] for the first check that the entry fails.
    pub fn follow(&mut self, entry: &Entry) -> Result<(), ChainError> {
        let (sequence, expected) = (entry.sequence, self.head.entries + 1);
        if sequence != expected {
            return Err(ChainError::Sequence { expected, found: sequence });
        }
        if entry.population != self.population {
            return Err(ChainError::Population { sequence, found: entry.population.clone() });
        }
        if entry.previous != self.head.digest {
            return Err(ChainError::Previous { sequence });
        }
        if entry.digest != entry.computed_digest() {
            return Err(ChainError::Digest { sequence });
        }
        self.head = Head { entries: sequence, digest: entry.digest };
        Ok(())
    }

    /// Returns the head of the entries verified so far.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Checks that the last verified entry is the given head, which the caller knows from elsewhere.
    ///
    /// # Errors
    /// [`ChainError::Head`] if the last verified entry is not `known`.
    pub fn ends_in(&self, known: &Head) -> Result<(), ChainError> {
        if self.head == *known { Ok(()) } else { Err(ChainError::Head(known.clone())) }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{RoundId, TaskId, Timestamp};

    use super::{super::*, *};
    use crate::{NoiseMultiplier, Relation, SamplingRate};

    fn ledger(entries: u64) -> Vec<Entry> {
        let mut ledger: Vec<Entry> = Vec::new();
        for number in 1..=entries {
            let participation = match number % 3 {
                0 => Participation::AtMost { count: 3 },
                1 => Participation::Whole { count: 3 },
                _ => Participation::Poisson { rate: SamplingRate::new(0.25).unwrap() },
            };
            let release = Release {
                task_id: TaskId::from_random_bytes([number as u8; 16]),
                round_id: RoundId::from_random_bytes([1; 16]),
                version: number,
                charge: Charge {
                    noise_multiplier: NoiseMultiplier::new(1.5, Relation::ZeroOut).unwrap(),
                    participation,
                },
            };
            let last = ledger.last().map(|last| (last.sequence, last.digest));
            let (at, event) = (Timestamp(1000 * number), Event::Release(release));
            ledger.push(Entry::following(last, "digits".parse().unwrap(), at, event));
        }
        ledger
    }

    fn check(ledger: &[Entry]) -> Result<Head, ChainError> {
        let mut chain = Chain::new("digits".parse().unwrap());
        ledger.iter().try_for_each(|entry| chain.follow(entry))?;
        Ok(chain.head().clone())
    }

    #[test]
    fn an_untouched_ledger_hangs_together() {
        let ledger = ledger(5);
        let head = check(&ledger).unwrap();
        assert_eq!((head.entries, head.digest), (5, ledger[4].digest));
        let read: Vec<Entry> = serde_json::from_str(&serde_json::to_string(&ledger).unwrap()).unwrap();
        assert_eq!(check(&read).unwrap(), head);
        assert_eq!(check(&[]).unwrap().entries, 0);
    }

    /// Returns the release of an entry, so that a test can change it.
    fn released(entry: &mut Entry) -> &mut Release {
        let Event::Release(release) = &mut entry.event else { panic!("all entries are releases") };
        release
    }

    #[test]
    fn every_changed_field_is_found() {
        let change: [fn(&mut Entry); 11] = [
            |entry| entry.population = "others".parse().unwrap(),
            |entry| entry.sequence += 1,
            |entry| released(entry).task_id = TaskId::from_random_bytes([99; 16]),
            |entry| released(entry).round_id = RoundId::from_random_bytes([99; 16]),
            |entry| released(entry).version += 1,
            |entry| entry.at = Timestamp(1),
            |entry| {
                released(entry).charge.noise_multiplier =
                    NoiseMultiplier::new(15.0, Relation::ZeroOut).unwrap();
            },
            |entry| {
                released(entry).charge.noise_multiplier =
                    NoiseMultiplier::new(1.5, Relation::ReplaceOne).unwrap();
            },
            |entry| released(entry).charge.participation = Participation::AtMost { count: 1 },
            |entry| entry.digest = EntryDigest::BEGINNING,
            |entry| {
                let Release { task_id, round_id, charge, .. } = *released(entry);
                entry.event = Event::Collection(Collection { task_id, round_id, charge });
            },
        ];
        for (number, change) in change.into_iter().enumerate() {
            for place in 0..4 {
                let mut ledger = ledger(4);
                change(&mut ledger[place]);
                assert!(check(&ledger).is_err(), "change {number} of entry {place}");
                // Recomputing the digest breaks the link of the next entry.
                ledger[place].digest = ledger[place].computed_digest();
                assert!(check(&ledger).is_err() || place == 3 || number == 9, "change {number} of {place}");
            }
        }
    }

    #[test]
    fn every_changed_field_of_settings_and_terms_is_found() {
        let charge = Charge {
            noise_multiplier: NoiseMultiplier::new(1.5, Relation::ZeroOut).unwrap(),
            participation: Participation::AtMost { count: 3 },
        };
        let (epsilon, delta) = (crate::Epsilon::new(8.0).unwrap(), crate::Delta::new(1e-6).unwrap());
        let task_id = TaskId::from_random_bytes([1; 16]);
        let settings = Settings {
            unit: crate::Unit::Client,
            budget: Some((epsilon, delta)),
            weakened: Some("a second study".into()),
            by: "key".into(),
        };
        let promise = Promise { epsilon, delta, charge };
        let terms = TaskTerms { task_id, promise: Some(promise), warm_start: Some((task_id, 3)) };
        let other = crate::Epsilon::new(9.0).unwrap();
        let changes = [
            Event::Settings(Settings { unit: crate::Unit::User, ..settings.clone() }),
            Event::Settings(Settings { budget: None, ..settings.clone() }),
            Event::Settings(Settings { budget: Some((other, delta)), ..settings.clone() }),
            Event::Settings(Settings { weakened: None, ..settings.clone() }),
            Event::Settings(Settings { weakened: Some(String::new()), ..settings.clone() }),
            Event::Settings(Settings { by: "another".into(), ..settings.clone() }),
            Event::Task(TaskTerms { promise: None, ..terms.clone() }),
            Event::Task(TaskTerms { promise: Some(Promise { epsilon: other, ..promise }), ..terms.clone() }),
            Event::Task(TaskTerms { warm_start: None, ..terms.clone() }),
            Event::Task(TaskTerms { warm_start: Some((task_id, 4)), ..terms.clone() }),
        ];
        for event in [Event::Settings(settings), Event::Task(terms)] {
            let entry = Entry::following(None, "digits".parse().unwrap(), Timestamp(1), event);
            check(std::slice::from_ref(&entry)).unwrap();
            assert_eq!(entry.event.charged(), None);
            let later = Entry { at: Timestamp(2), ..entry.clone() };
            assert!(check(&[later]).is_err());
            for event in changes.clone() {
                assert!(check(&[Entry { event, ..entry.clone() }]).is_err(), "{entry:?}");
            }
        }
    }

    #[test]
    fn entries_cannot_be_removed_swapped_or_cut_off() {
        let whole = ledger(4);
        let known = check(&whole).unwrap();
        for place in 0..3 {
            let mut without = whole.clone();
            without.remove(place);
            assert!(check(&without).is_err(), "{place}");
            let mut swapped = whole.clone();
            swapped.swap(place, place + 1);
            assert!(check(&swapped).is_err(), "{place}");
        }
        let mut chain = Chain::new("digits".parse().unwrap());
        whole[..3].iter().for_each(|entry| chain.follow(entry).unwrap());
        let error = chain.ends_in(&known).unwrap_err();
        assert!(error.to_string().contains("removed"), "{error}");
        chain.follow(&whole[3]).unwrap();
        assert_eq!(chain.ends_in(&known), Ok(()));
    }
}
