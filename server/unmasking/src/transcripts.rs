use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use folkmoot_protocol::{AssignmentId, RoundId};
use folkmoot_secure_aggregation::{OpenShares, Transcript};
use tokio::sync::{Mutex as AsyncMutex, OnceCell};

/// The number of rounds that are kept in memory.
const ROUNDS_MAX: usize = 256;

/// The messages of the rounds that this process has read from the database. Each message is read and checked once; a process
/// that restarts, or another one, reads them again.
#[derive(Default)]
pub struct Transcripts {
    /// The last used last.
    rounds: Mutex<VecDeque<(RoundId, Arc<Known>)>>,
    read: AtomicU64,
}

/// The messages of one round. The cells are filled when their step is closed, because its messages do not change afterwards.
#[derive(Default)]
pub(crate) struct Known {
    /// The roster.
    pub keys: OnceCell<Arc<Transcript>>,
    /// The roster and the shares.
    pub shares: OnceCell<Arc<Transcript>>,
    /// The members whose updates were accepted, by ascending index.
    pub survivors: OnceCell<Vec<u32>>,
    /// The signatures over the survivors.
    pub agreements: AsyncMutex<Heard<BTreeMap<u32, String>>>,
    /// The opened shares.
    pub openings: AsyncMutex<Heard<OpenShares>>,
    /// The members that were blamed, so that each is logged once.
    pub blamed: Mutex<BTreeSet<u32>>,
}

/// The messages of an open step, as far as they were read.
#[derive(Default)]
pub(crate) struct Heard<T> {
    /// The assignments whose messages were read.
    pub from: BTreeSet<AssignmentId>,
    pub content: T,
}

impl Transcripts {
    /// Returns the number of messages that this process has read from the database.
    pub fn read_count(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn count_read(&self, messages: usize) {
        self.read.fetch_add(messages as u64, Ordering::Relaxed);
    }

    /// Returns the state of a round. If there are too many rounds, forgets the least recently used one.
    pub(crate) fn of(&self, round: RoundId) -> Arc<Known> {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let found = rounds.iter().position(|(id, _)| *id == round).and_then(|place| rounds.remove(place));
        let known = found.map_or_else(Arc::default, |(_, known)| known);
        rounds.push_back((round, known.clone()));
        if rounds.len() > ROUNDS_MAX {
            rounds.pop_front();
        }
        known
    }

    /// Forgets a round that has ended.
    pub(crate) fn forget(&self, round: RoundId) {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.retain(|(id, _)| *id != round);
    }
}
