//! Uploads on their way into a round: written to the round log and folded into the running sum as the bytes
//! arrive, with memory that depends on the model and not on the number of clients.

#[cfg(test)]
mod bounded;
#[cfg(test)]
mod compressed;
mod expected;
mod replay;
mod round_sum;
#[cfg(test)]
mod sensitivity;
mod tally;
mod upload;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub use expected::{ExpectedUpdate, FLOAT32};
use folkmoot_coordinator::aggregation::Measurement;
use folkmoot_protocol::{AssignmentId, RoundId, ValueGrid};
use folkmoot_storage::RoundLog;
pub(crate) use replay::read_tiles;
pub use round_sum::RoundSum;
pub use upload::{Announced, Upload, logged};

/// The uploads and running sums of this process. They are a cache: after a crash both are made again from the
/// round log.
pub struct Ingest {
    log: RoundLog,
    sums: Mutex<HashMap<RoundId, Arc<RoundSum>>>,
    uploads: Mutex<HashMap<AssignmentId, Slot>>,
}

/// One assignment's upload.
struct Slot {
    round: RoundId,
    /// Held by the request that sends.
    upload: Arc<tokio::sync::Mutex<Option<Upload>>>,
    /// How far it has come; [`NOT_BEGUN`] where there is none.
    received: Arc<AtomicU64>,
}

/// No upload has so many bytes.
const NOT_BEGUN: u64 = u64::MAX;

impl Ingest {
    /// Makes the ingest over a round log.
    pub fn new(log: RoundLog) -> Self {
        Self { log, sums: Mutex::default(), uploads: Mutex::default() }
    }

    /// Returns the round log.
    pub fn log(&self) -> &RoundLog {
        &self.log
    }

    /// Returns the round's running sum, and makes an empty one where there is none.
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

    /// Returns the round's running sum, if there is one.
    pub(super) fn known_sum(&self, round: RoundId) -> Option<Arc<RoundSum>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).get(&round).cloned()
    }

    /// Says whether updates are folded into a running sum of this round.
    pub fn is_summing(&self, round: RoundId) -> bool {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&round)
    }

    /// Lets go of a running sum that cannot be trusted any more; it is made again from the log.
    pub fn forget_sum(&self, round: RoundId) {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).remove(&round);
    }

    /// Returns the place of an assignment's upload; whoever locks it may send.
    pub fn slot(&self, round: RoundId, assignment: AssignmentId) -> Arc<tokio::sync::Mutex<Option<Upload>>> {
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = || Slot { round, upload: Arc::default(), received: Arc::new(AtomicU64::new(NOT_BEGUN)) };
        uploads.entry(assignment).or_insert_with(begin).upload.clone()
    }

    /// Returns how many bytes of an assignment's upload have arrived, if this process takes it. It does not wait for the
    /// request that sends.
    pub fn received(&self, assignment: AssignmentId) -> Option<u64> {
        self.counter(assignment)
            .map(|received| received.load(Ordering::Acquire))
            .filter(|received| *received != NOT_BEGUN)
    }

    /// Returns where the bytes of an assignment's upload are counted.
    fn counter(&self, assignment: AssignmentId) -> Option<Arc<AtomicU64>> {
        let uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.get(&assignment).map(|slot| slot.received.clone())
    }

    /// Lets go of an assignment's upload: it was accepted or refused.
    pub fn forget_upload(&self, assignment: AssignmentId) {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).remove(&assignment);
    }

    /// Lets go of an assignment that is over, its log included.
    ///
    /// # Errors
    /// If the log cannot be removed; it is found again by the next clean-up.
    pub fn forget_assignment(
        &self,
        round: RoundId,
        assignment: AssignmentId,
    ) -> Result<(), folkmoot_storage::RoundLogError> {
        self.forget_upload(assignment);
        self.log.remove_segment(round, assignment)
    }

    /// Lets go of all that belongs to a round that is over, its log included, but for the updates of assignments that
    /// go on.
    ///
    /// # Errors
    /// If the log cannot be removed; it is found again by the next start's clean-up.
    pub fn forget_round(&self, round: RoundId) -> Result<(), folkmoot_storage::RoundLogError> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).remove(&round);
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, slot| slot.round != round);
        self.log.remove_round(round)
    }
}
