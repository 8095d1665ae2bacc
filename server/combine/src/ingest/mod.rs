//! Receives uploads. Their bytes are written to the round log and added to the running sum as they arrive. Memory
//! depends on the model's size, not on the number of clients.

#[cfg(test)]
mod bounded;
#[cfg(test)]
mod compressed;
#[cfg(test)]
mod elsewhere;
mod expected;
mod faults;
mod masked;
mod replay;
mod round_sum;
#[cfg(test)]
mod sensitivity;
mod shared;
mod tally;
mod upload;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub use expected::{ExpectedUpdate, FLOAT32, Origin, reports_metrics};
use folkmoot_aggregation::Measurement;
use folkmoot_objects::UpdateStore;
use folkmoot_protocol::{AssignmentId, RoundId, ValueGrid};
use folkmoot_round_log::RoundLog;
pub use replay::{logged, read_tiles};
pub use round_sum::RoundSum;
use shared::Stored;
pub use upload::{Announced, Upload};

/// The uploads and running sums of this process. They are a cache: after a crash both are rebuilt from the round log.
pub struct Ingest {
    log: RoundLog,
    /// The store of complete updates, if several coordinators share one. The round log is then a cache, too.
    store: Option<UpdateStore>,
    /// The stored updates whose bytes are in the round log of this process.
    stored: Mutex<HashMap<AssignmentId, Stored>>,
    /// The rounds whose log could not be read, so that it was copied from the store again.
    distrusted: Mutex<HashSet<RoundId>>,
    sums: Mutex<HashMap<RoundId, Arc<RoundSum>>>,
    uploads: Mutex<HashMap<AssignmentId, Slot>>,
}

/// One assignment's upload.
struct Slot {
    round: RoundId,
    /// The upload. The request that sends its bytes holds the lock.
    upload: Arc<tokio::sync::Mutex<Option<Upload>>>,
    /// The number of bytes received; [`NOT_BEGUN`] before the upload begins.
    received: Arc<AtomicU64>,
}

/// The value of [`Slot::received`] before the upload begins. No upload has this many bytes.
const NOT_BEGUN: u64 = u64::MAX;

impl Ingest {
    /// Creates an ingest over a round log.
    pub fn new(log: RoundLog) -> Self {
        Self {
            log,
            store: None,
            stored: Mutex::default(),
            distrusted: Mutex::default(),
            sums: Mutex::default(),
            uploads: Mutex::default(),
        }
    }

    /// Returns the round log.
    pub fn log(&self) -> &RoundLog {
        &self.log
    }

    /// Returns the round's running sum; creates an empty one if there is none.
    pub fn sum_of(
        &self,
        round: RoundId,
        grid: ValueGrid,
        parameter_count: usize,
        measurement: Measurement,
    ) -> Arc<RoundSum> {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(RoundSum::new(round, grid, parameter_count, measurement));
        sums.entry(round).or_insert_with(make).clone()
    }

    /// Returns the round's running sum; `None` if this process has none.
    pub(super) fn known_sum(&self, round: RoundId) -> Option<Arc<RoundSum>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).get(&round).cloned()
    }

    /// Returns whether this process has a running sum for this round.
    pub fn is_summing(&self, round: RoundId) -> bool {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&round)
    }

    /// Drops a running sum that may be inconsistent. It will be rebuilt from the log.
    pub fn forget_sum(&self, round: RoundId) {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).remove(&round);
    }

    /// Returns the lock of an assignment's upload. Only the request that holds the lock may send bytes.
    pub fn slot(&self, round: RoundId, assignment: AssignmentId) -> Arc<tokio::sync::Mutex<Option<Upload>>> {
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = || Slot { round, upload: Arc::default(), received: Arc::new(AtomicU64::new(NOT_BEGUN)) };
        uploads.entry(assignment).or_insert_with(begin).upload.clone()
    }

    /// Returns the number of bytes of an assignment's upload that have arrived; `None` if this process does not receive
    /// the upload. Does not wait for the request that is sending.
    pub fn received(&self, assignment: AssignmentId) -> Option<u64> {
        self.counter(assignment)
            .map(|received| received.load(Ordering::Acquire))
            .filter(|received| *received != NOT_BEGUN)
    }

    /// Returns the counter of an assignment's received bytes; `None` if this process does not receive the upload.
    fn counter(&self, assignment: AssignmentId) -> Option<Arc<AtomicU64>> {
        let uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.get(&assignment).map(|slot| slot.received.clone())
    }

    /// Drops the in-memory upload of an assignment after it was accepted or refused.
    pub fn forget_upload(&self, assignment: AssignmentId) {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).remove(&assignment);
    }

    /// Drops the upload of an assignment and deletes its log.
    ///
    /// # Errors
    /// Fails if the log cannot be removed; the next clean-up removes it.
    pub fn forget_assignment(
        &self,
        round: RoundId,
        assignment: AssignmentId,
    ) -> Result<(), folkmoot_round_log::RoundLogError> {
        self.forget_upload(assignment);
        self.forget_places(|id, _| id == assignment);
        self.log.remove_segment(round, assignment)
    }

    /// Drops the running sum of a round that has ended and the uploads for it, and deletes the round's log. Uploads for
    /// other rounds are kept.
    ///
    /// # Errors
    /// Fails if the log cannot be removed; the clean-up at the next start removes it.
    pub fn forget_round(&self, round: RoundId) -> Result<(), folkmoot_round_log::RoundLogError> {
        self.forget_stored(round);
        self.forget_copies(round)
    }

    /// Does the same as [`Ingest::forget_round`], but leaves the round's stored updates to the process that has ended it.
    ///
    /// # Errors
    /// Fails if the log cannot be removed; the next clean-up removes it.
    pub fn forget_copies(&self, round: RoundId) -> Result<(), folkmoot_round_log::RoundLogError> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).remove(&round);
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, slot| slot.round != round);
        self.forget_places(|_, of| of == round);
        self.log.remove_round(round)
    }
}
