//! What of a plan an executor has to know.

use folkmoot_protocol::{ExamplePrivacy, GradientClipping, LocalOptimizer, Precision};

/// How a step is computed and how its gradient becomes new weights: the same in every step of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepRule {
    /// Examples that are computed at once, at most; 1 or more.
    pub batch_size: usize,
    /// Batches of a step, at most; 1 or more.
    pub accumulation_steps: u32,
    /// How activations are stored.
    pub precision: Precision,
    /// What bounds gradients.
    pub clipping: Option<GradientClipping>,
    /// The noise of DP-SGD, with clipping by the norm of single examples.
    pub privacy: Option<ExamplePrivacy>,
    /// FedProx's mu.
    pub proximal_term: f32,
    /// Its learning rate is not read: each request has its own.
    pub optimizer: LocalOptimizer,
    /// Bytes that a training may hold on the processor.
    pub memory_bytes_max: Option<u64>,
}

impl StepRule {
    /// Says whether steps add nothing to weights but a multiple of the gradient: then the change of a dense layer is the
    /// sum of the products of all steps.
    pub fn is_sum_of_gradients(&self) -> bool {
        let is_plain = matches!(
            self.optimizer,
            LocalOptimizer::Sgd { momentum, weight_decay, .. } if momentum == 0.0 && weight_decay == 0.0
        );
        let is_scaled_alike = matches!(self.clipping, None | Some(GradientClipping::Norm(_)));
        is_plain
            && is_scaled_alike
            && self.proximal_term == 0.0
            && self.privacy.is_none()
            && self.precision == Precision::Single
    }
}

/// The factor of the loss with which a training with mixed precision begins, and the steps since it changed.
pub const LOSS_SCALE: [f32; 2] = [65_536.0, 0.0];
