//! The state of a training as the host has it.

/// Weights and the optimizer's state. An executor with memory of its own leaves them as they are until they are fetched.
#[derive(Debug)]
pub struct HostState {
    /// Flat in schema order.
    pub weights: Vec<f32>,
    /// The weights from which training began.
    pub starting_weights: Vec<f32>,
    /// Is added to every gradient: SCAFFOLD's c − cᵢ (Karimireddy et al. 2020, algorithm 1).
    pub correction: Option<Vec<f32>>,
    /// The optimizer's slots of one trained tensor after the other; with mixed precision, the loss scale at the end.
    pub optimizer_state: Vec<f32>,
}

impl HostState {
    /// Bytes of all of it.
    pub fn memory_bytes(&self) -> usize {
        let correction = self.correction.as_deref().unwrap_or_default();
        self.memory_bytes_without_correction() + size_of_val(correction)
    }

    /// Bytes of all but the correction.
    pub fn memory_bytes_without_correction(&self) -> usize {
        let floats = self.weights.len() + self.starting_weights.len() + self.optimizer_state.len();
        floats * size_of::<f32>()
    }
}
