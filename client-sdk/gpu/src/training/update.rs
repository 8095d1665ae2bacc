//! The weight update of a step: its kernels, and the numbers that change from step to step.

use folkmoot_graph::step::{StepRequest, StepRule};
use folkmoot_protocol::{GradientClipping, LocalOptimizer};

use crate::kernels::{AdjustmentKind, optimizer_slots};
use crate::uniform::StepValues;

/// The optimizer, and the adjustments of gradients before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Update {
    pub(super) optimizer: LocalOptimizer,
    pub(super) adjustment: AdjustmentKind,
}

impl Update {
    /// # Errors
    /// Returns the part of the rule that only the CPU supports.
    pub(super) fn new(
        rule: &StepRule,
        is_corrected: bool,
        is_loss_scaled: bool,
    ) -> Result<Self, &'static str> {
        if matches!(rule.clipping, Some(GradientClipping::PerExampleNorm(_))) {
            return Err("only the CPU can clip gradients example by example");
        }
        if rule.accumulation_steps > 1 {
            return Err("only the CPU can accumulate the gradients of several batches");
        }
        if rule.optimizer.needs_whole_tensors() {
            return Err("only the CPU has the optimizers muon, adafactor and newton");
        }
        if rule.sharpness_radius.is_some() {
            return Err("only the CPU has sharpness-aware minimisation");
        }
        if rule.has_constraints {
            return Err("only the CPU has l1 and value_range");
        }
        let adjustment = AdjustmentKind {
            clipping: rule.clipping,
            proximal_term: rule.proximal_term,
            is_corrected,
            is_loss_scaled,
        };
        Ok(Self { optimizer: rule.optimizer, adjustment })
    }

    /// Returns the number of state values that the optimizer keeps per weight.
    pub(super) fn slots(&self) -> usize {
        optimizer_slots(self.optimizer)
    }

    /// Returns whether the update reads the starting weights.
    pub(super) fn has_start(&self) -> bool {
        self.adjustment.proximal_term != 0.0
    }
}

/// Returns the values of this step.
pub(super) fn step_values(optimizer: LocalOptimizer, request: &StepRequest<'_>) -> StepValues {
    let StepRequest { number, seed, learning_rate, .. } = *request;
    let (rate, root_factor) = match optimizer {
        LocalOptimizer::Adam { beta1, beta2, .. } | LocalOptimizer::AdamW { beta1, beta2, .. } => {
            // Computes 1 − βᵗ in double precision; single precision would lose digits.
            let correction = |beta: f32| 1.0 - f64::from(beta).powf((number + 1) as f64);
            let rate = f64::from(learning_rate) / correction(beta1);
            (rate as f32, (1.0 / correction(beta2).sqrt()) as f32)
        }
        _ => (learning_rate, 1.0),
    };
    StepValues { learning_rate, rate, root_factor, seed, ..StepValues::default() }
}
