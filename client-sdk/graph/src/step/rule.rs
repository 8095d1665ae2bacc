//! The parts of a plan that an executor needs.

use folkmoot_protocol::{ExamplePrivacy, GradientClipping, LocalOptimizer, Precision};

/// The rule by which a step is computed and its gradient becomes new weights. It is the same for all steps of a
/// training run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepRule {
    /// The maximum number of examples computed at once; 1 or more.
    pub batch_size: usize,
    /// The maximum number of batches in a step; 1 or more.
    pub accumulation_steps: u32,
    /// The precision of stored activations.
    pub precision: Precision,
    /// The limit on gradients; `None` if they are not clipped.
    pub clipping: Option<GradientClipping>,
    /// The distance at which a step computes its second gradient; `None` if it computes one.
    pub sharpness_radius: Option<f32>,
    /// True if the values of some tensors are changed after the optimizer's step.
    pub has_constraints: bool,
    /// The noise of DP-SGD, with clipping by per-example norms.
    pub privacy: Option<ExamplePrivacy>,
    /// FedProx's mu, the weight of the proximal term.
    pub proximal_term: f32,
    /// The optimizer. Its learning rate is ignored: each request has its own.
    pub optimizer: LocalOptimizer,
    /// The maximum memory that training may use on the CPU, in bytes; `None` for no limit.
    pub memory_bytes_max: Option<u64>,
}

impl StepRule {
    /// Returns whether steps only add multiples of the gradient to the weights. If so, the change of a dense layer is
    /// the sum of all steps' outer products.
    pub fn is_sum_of_gradients(&self) -> bool {
        let is_plain = matches!(
            self.optimizer,
            LocalOptimizer::Sgd { momentum, weight_decay, .. } if momentum == 0.0 && weight_decay == 0.0
        );
        let is_scaled_alike = matches!(self.clipping, None | Some(GradientClipping::Norm(_)));
        is_plain
            && is_scaled_alike
            && self.proximal_term == 0.0
            && self.sharpness_radius.is_none()
            && !self.has_constraints
            && self.privacy.is_none()
            && self.precision == Precision::Single
    }
}

/// The optimizer's initial state for the loss scale: the scale itself, and the number of steps since it last changed.
pub const LOSS_SCALE: [f32; 2] = [65_536.0, 0.0];
