//! How much memory compiled steps may take.

use crate::step::StepError;

/// The memory that compiled steps may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryLimit {
    /// Bytes that the training holds besides.
    pub(crate) held: usize,
    /// The plan's `memory_bytes_max`.
    pub(crate) bytes_max: Option<u64>,
}

impl MemoryLimit {
    /// # Errors
    /// Returns [`StepError::Memory`] if programs of this size are too much.
    pub(crate) fn check(self, batch_size: usize, programs: usize) -> Result<(), StepError> {
        let needed = (self.held as u64).saturating_add(programs as u64);
        match self.bytes_max {
            Some(allowed) if needed > allowed => Err(StepError::Memory { batch_size, needed, allowed }),
            _ => Ok(()),
        }
    }
}
