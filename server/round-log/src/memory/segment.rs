use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use folkmoot_protocol::AssignmentId;

use crate::RoundLogError;

/// A segment's bytes, shared by its writer and readers.
///
/// As with a file, the bytes stay available to open handles after the segment is removed.
#[derive(Default)]
pub(super) struct Shared {
    bytes: Mutex<Vec<u8>>,
    is_open: AtomicBool,
    is_removed: AtomicBool,
}

impl Shared {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self { bytes: Mutex::new(bytes), ..Self::default() }
    }

    pub(super) fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the segment as removed. Handles that are still open check this mark.
    pub(super) fn remove(&self) {
        self.is_removed.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("len", &self.bytes().len()).finish_non_exhaustive()
    }
}

/// A segment in memory. It stays open until it is dropped.
#[derive(Debug)]
pub(crate) struct MemorySegment {
    assignment: AssignmentId,
    shared: Arc<Shared>,
}

impl MemorySegment {
    pub(super) fn open(shared: Arc<Shared>, assignment: AssignmentId) -> Result<Self, RoundLogError> {
        if shared.is_open.swap(true, Ordering::AcqRel) {
            return Err(RoundLogError::Busy(assignment));
        }
        Ok(Self { assignment, shared })
    }

    pub(crate) fn len(&self) -> u64 {
        self.shared.bytes().len() as u64
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.shared.bytes().extend_from_slice(bytes);
    }

    pub(crate) fn truncate(&mut self, len: u64) -> Result<(), RoundLogError> {
        let mut bytes = self.shared.bytes();
        let held = bytes.len() as u64;
        if len > held {
            return Err(RoundLogError::TooShort { len: held, wanted: len });
        }
        bytes.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }

    /// Returns an error if the segment was removed. Otherwise there is nothing to sync.
    pub(crate) fn sync(&mut self) -> Result<(), RoundLogError> {
        match self.shared.is_removed.load(Ordering::Acquire) {
            true => Err(RoundLogError::NotFound(self.assignment)),
            false => Ok(()),
        }
    }
}

impl Drop for MemorySegment {
    fn drop(&mut self) {
        self.shared.is_open.store(false, Ordering::Release);
    }
}
