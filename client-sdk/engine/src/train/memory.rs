//! What a training holds in memory.

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
