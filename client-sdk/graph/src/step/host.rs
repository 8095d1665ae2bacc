//! The training state in host memory.

/// Weights and optimizer state. An executor with its own memory leaves them unchanged until they are fetched.
#[derive(Debug)]
pub struct HostState {
    /// The weights, flat in schema order.
    pub weights: Vec<f32>,
    /// The weights at the start of training.
    pub starting_weights: Vec<f32>,
    /// A correction added to every gradient, such as SCAFFOLD's c − cᵢ (Karimireddy et al. 2020, algorithm 1).
    pub correction: Option<Vec<f32>>,
    /// The optimizer's slots, one trained tensor after another; with mixed precision, the loss scale at the end.
    pub optimizer_state: Vec<f32>,
}

impl HostState {
    /// Returns the size in bytes.
    pub fn memory_bytes(&self) -> usize {
        let correction = self.correction.as_deref().unwrap_or_default();
        self.memory_bytes_without_correction() + size_of_val(correction)
    }

    /// Returns the size in bytes without the correction.
    pub fn memory_bytes_without_correction(&self) -> usize {
        let floats = self.weights.len() + self.starting_weights.len() + self.optimizer_state.len();
        floats * size_of::<f32>()
    }
}
