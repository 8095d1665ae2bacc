//! The memory limit for compiled steps.

use crate::step::StepError;

/// The memory limit for compiled steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryLimit {
    /// The number of bytes that training holds apart from compiled steps.
    pub(crate) held: usize,
    /// The plan's `memory_bytes_max`.
    pub(crate) bytes_max: Option<u64>,
}

impl MemoryLimit {
    /// # Errors
    /// Returns [`StepError::Memory`] if programs of this size exceed the limit.
    pub(crate) fn check(self, batch_size: usize, programs: usize) -> Result<(), StepError> {
        let needed = (self.held as u64).saturating_add(programs as u64);
        match self.bytes_max {
            Some(allowed) if needed > allowed => Err(StepError::Memory { batch_size, needed, allowed }),
            _ => Ok(()),
        }
    }
}
