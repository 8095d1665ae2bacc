//! The optimizers, one file each: loops over flat slices of weights, gradients and state.

mod adagrad;
mod adam;
mod adamw;
mod lion;
mod rms_prop;
mod sgd;

use folkmoot_protocol::LocalOptimizer;

/// The maximum number of state values per weight.
pub(crate) const SLOTS_MAX: usize = 2;

/// The position of a step in training.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepNumber {
    /// The number of the step, counted from 1.
    pub(crate) number: u64,
    /// The learning rate of this step.
    pub(crate) learning_rate: f32,
}

/// Updates weights from a gradient.
pub(crate) trait Optimizer: Send + Sync {
    /// Returns the number of state values per weight, up to [`SLOTS_MAX`]; they start at 0.
    fn slots(&self) -> usize;

    /// Updates some of the weights.
    ///
    /// All slices have the same length, except that those of `state` beyond [`Optimizer::slots`] are empty.
    fn update(&self, step: StepNumber, weights: &mut [f32], gradient: &[f32], state: [&mut [f32]; SLOTS_MAX]);
}

/// Returns the number of state values that an optimizer keeps per weight.
pub(crate) fn slots(plan: LocalOptimizer) -> usize {
    optimizer(plan).slots()
}

/// Returns the optimizer of a plan.
pub(crate) fn optimizer(plan: LocalOptimizer) -> Box<dyn Optimizer> {
    match plan {
        LocalOptimizer::Sgd { momentum, nesterov, weight_decay, .. } => {
            Box::new(sgd::Sgd { momentum, nesterov, weight_decay })
        }
        LocalOptimizer::Adam { beta1, beta2, epsilon, weight_decay, .. } => {
            Box::new(adam::Adam { beta1, beta2, epsilon, weight_decay })
        }
        LocalOptimizer::AdamW { beta1, beta2, epsilon, weight_decay, .. } => {
            let adam = adam::Adam { beta1, beta2, epsilon, weight_decay: 0.0 };
            Box::new(adamw::AdamW { adam, weight_decay })
        }
        LocalOptimizer::Adagrad { epsilon, weight_decay, .. } => {
            Box::new(adagrad::Adagrad { epsilon, weight_decay })
        }
        LocalOptimizer::RmsProp { decay, epsilon, momentum, weight_decay, .. } => {
            Box::new(rms_prop::RmsProp { decay, epsilon, momentum, weight_decay })
        }
        LocalOptimizer::Lion { beta1, beta2, weight_decay, .. } => {
            Box::new(lion::Lion { beta1, beta2, weight_decay })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one weight after each of two steps with learning rate ½ and these gradients.
    pub(crate) fn two_steps(optimizer: &dyn Optimizer, start: f32, gradients: [f32; 2]) -> [f32; 2] {
        let (mut weight, mut state) = ([start], [[0.0]; SLOTS_MAX]);
        let mut number = 0;
        gradients.map(|gradient| {
            number += 1;
            let slots = optimizer.slots();
            let [first, second] = &mut state;
            let slot = |slot: &'_ mut [f32; 1], index: usize| -> Vec<f32> {
                if index < slots { slot.to_vec() } else { Vec::new() }
            };
            let (mut one, mut two) = (slot(first, 0), slot(second, 1));
            let step = StepNumber { number, learning_rate: 0.5 };
            optimizer.update(step, &mut weight, &[gradient], [&mut one, &mut two]);
            for (slot, kept) in state.iter_mut().zip([one, two]) {
                slot[..kept.len()].copy_from_slice(&kept);
            }
            weight[0]
        })
    }

    pub(crate) fn assert_close(found: [f32; 2], expected: [f64; 2]) {
        let is_close = |(found, expected): (&f32, &f64)| (f64::from(*found) - expected).abs() < 1e-6;
        assert!(found.iter().zip(&expected).all(is_close), "{found:?}, not {expected:?}");
    }
}
