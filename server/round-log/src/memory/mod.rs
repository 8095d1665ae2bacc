//! A round log in the memory of this process.

mod copy;
mod reader;
mod segment;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_protocol::{AssignmentId, RoundId};

use self::segment::Shared;
pub(super) use self::{copy::MemoryCopy, reader::MemoryReader, segment::MemorySegment};
use super::RoundLogError;

/// The segments in memory, by round.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    rounds: Arc<Mutex<Rounds>>,
}

type Rounds = BTreeMap<RoundId, BTreeMap<AssignmentId, Arc<Shared>>>;

impl Memory {
    pub(super) fn open(
        &self,
        round: RoundId,
        assignment: AssignmentId,
    ) -> Result<MemorySegment, RoundLogError> {
        let mut rounds = self.lock();
        let shared = rounds.entry(round).or_default().entry(assignment).or_default();
        MemorySegment::open(shared.clone(), assignment)
    }

    pub(super) fn read(
        &self,
        round: RoundId,
        assignment: AssignmentId,
    ) -> Result<MemoryReader, RoundLogError> {
        let rounds = self.lock();
        let shared = rounds.get(&round).and_then(|segments| segments.get(&assignment));
        shared.map(|shared| MemoryReader::new(shared.clone())).ok_or(RoundLogError::NotFound(assignment))
    }

    pub(super) fn copy(&self, round: RoundId, assignment: AssignmentId) -> MemoryCopy {
        MemoryCopy::new(self.clone(), round, assignment)
    }

    /// Replaces a segment. Open handles keep the previous bytes.
    fn replace(&self, round: RoundId, assignment: AssignmentId, bytes: Vec<u8>) {
        let new = Arc::new(Shared::of(bytes));
        if let Some(previous) = self.lock().entry(round).or_default().insert(assignment, new) {
            previous.remove();
        }
    }

    pub(super) fn remove_segment(&self, round: RoundId, assignment: AssignmentId) {
        let mut rounds = self.lock();
        let Some(segments) = rounds.get_mut(&round) else { return };
        if let Some(shared) = segments.remove(&assignment) {
            shared.remove();
        }
        if segments.is_empty() {
            rounds.remove(&round);
        }
    }

    pub(super) fn remove_round(&self, round: RoundId) {
        let removed = self.lock().remove(&round);
        removed.into_iter().flatten().for_each(|(_, shared)| shared.remove());
    }

    pub(super) fn rounds(&self) -> Vec<RoundId> {
        self.lock().keys().copied().collect()
    }

    pub(super) fn segments(&self, round: RoundId) -> Vec<AssignmentId> {
        self.lock().get(&round).into_iter().flat_map(|segments| segments.keys().copied()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
