//! The memory of a training run.

/// The memory of a training run by purpose, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrainingMemory {
    /// The current weights, their copy for a second gradient, and the optimizer's workspace.
    pub weights: usize,
    /// The starting weights, needed for the delta, and the gradient correction if there is one.
    pub starting_weights: usize,
    /// The optimizer's state.
    pub optimizer_state: usize,
    /// Activations, gradients, constants and workspace of the compiled steps.
    pub programs: usize,
    /// The buffers into which a batch is copied.
    pub batch: usize,
}

impl TrainingMemory {
    /// Returns the total in bytes.
    pub fn total(&self) -> usize {
        self.weights + self.starting_weights + self.optimizer_state + self.programs + self.batch
    }
}
