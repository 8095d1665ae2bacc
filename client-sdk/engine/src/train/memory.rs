//! What a training holds in memory, and how much it may.

use super::TrainError;

/// Bytes that a training holds, by what they are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrainingMemory {
    /// The weights that are trained.
    pub weights: usize,
    /// The weights from which training began, for the delta, and the gradient correction if there is one.
    pub starting_weights: usize,
    /// What the optimizer keeps.
    pub optimizer_state: usize,
    /// Activations, gradients, constants and scratch of the compiled steps.
    pub programs: usize,
    /// The buffers into which a batch is copied.
    pub batch: usize,
}

impl TrainingMemory {
    /// All of it.
    pub fn total(&self) -> usize {
        self.weights + self.starting_weights + self.optimizer_state + self.programs + self.batch
    }
}

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
    /// Returns [`TrainError::Memory`] if programs of this size are too much.
    pub(crate) fn check(self, batch_size: usize, programs: usize) -> Result<(), TrainError> {
        let needed = (self.held as u64).saturating_add(programs as u64);
        match self.bytes_max {
            Some(allowed) if needed > allowed => Err(TrainError::Memory { batch_size, needed, allowed }),
            _ => Ok(()),
        }
    }
}
