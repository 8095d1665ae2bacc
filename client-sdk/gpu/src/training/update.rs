//! How a step changes weights: which kernels, and which numbers change from step to step.

use folkmoot_graph::step::{StepRequest, StepRule};
use folkmoot_protocol::{GradientClipping, LocalOptimizer};

use crate::kernels::{AdjustmentKind, optimizer_slots};
use crate::uniform::StepValues;

/// The optimizer, and what happens to gradients before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Update {
    pub(super) optimizer: LocalOptimizer,
    pub(super) adjustment: AdjustmentKind,
}

impl Update {
    /// # Errors
    /// Says what of the rule only the CPU does.
    pub(super) fn new(
        rule: &StepRule,
        is_corrected: bool,
        is_loss_scaled: bool,
    ) -> Result<Self, &'static str> {
        if matches!(rule.clipping, Some(GradientClipping::PerExampleNorm(_))) {
            return Err("gradients are clipped example by example only on the CPU");
        }
        if rule.accumulation_steps > 1 {
            return Err("gradients of several batches are accumulated to one step only on the CPU");
        }
        let adjustment = AdjustmentKind {
            clipping: rule.clipping,
            proximal_term: rule.proximal_term,
            is_corrected,
            is_loss_scaled,
        };
        Ok(Self { optimizer: rule.optimizer, adjustment })
    }

    /// Numbers that the optimizer keeps for each weight.
    pub(super) fn slots(&self) -> usize {
        optimizer_slots(self.optimizer)
    }

    /// Whether the starting weights are read.
    pub(super) fn has_start(&self) -> bool {
        self.adjustment.proximal_term != 0.0
    }
}

/// What is different in this step.
pub(super) fn step_values(optimizer: LocalOptimizer, request: &StepRequest<'_>) -> StepValues {
    let StepRequest { number, seed, learning_rate, .. } = *request;
    let (rate, root_factor) = match optimizer {
        LocalOptimizer::Adam { beta1, beta2, .. } | LocalOptimizer::AdamW { beta1, beta2, .. } => {
            // The digits of 1 − βᵗ that single precision would lose.
            let correction = |beta: f32| 1.0 - f64::from(beta).powf((number + 1) as f64);
            let rate = f64::from(learning_rate) / correction(beta1);
            (rate as f32, (1.0 / correction(beta2).sqrt()) as f32)
        }
        _ => (learning_rate, 1.0),
    };
    StepValues { learning_rate, rate, root_factor, seed, ..StepValues::default() }
}
